#include "measure/kernel_rate.h"

#include <atomic>
#include <memory>
#include <string>

#include "kernels/dispatch.h"
#include "measure/operands.h"
#include "threads/partition.h"
#include "threads/read_bandwidth.h"

namespace spiked::measure {
namespace {

using kernels::Kernels;
using layout::kPanelRows;

constexpr size_t kLeastBytes = size_t{1} << 20;

/// y = W x of `batch` tokens over these panels, or groups of as many rows.
using Product = void (*)(const Kernels& k, const Operands& o, size_t batch, Range panels, float* y,
                         size_t y_stride);
/// A worker's share of a product over the column-major weights; y and sums have room for every worker's kWidth values.
using Columns = void (*)(const Kernels& k, const Operands& o, const Team& team, float* y, int32_t* sums);

Range rows_of(const Team& team) { return share(kWidth, layout::kColumnRows, team.index(), team.size()); }

struct Measured {
  const char* name;
  Weights weights;
  Activations activations;
  Product product;  // or
  Columns columns;
  bool all_columns;
};

constexpr Measured kMeasured[] = {
    {"matmul_f32_f32", Weights::kF32, Activations::kF32,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_f32_f32(o.weights<float>(), o.x.data(), kWidth, batch, kWidth, p.begin, p.end, y, y_stride);
     },
     nullptr, false},
    {"matmul_i8_f32", Weights::kI8, Activations::kF32,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i8_f32(o.weights<int8_t>(), o.scale.data(), o.x.data(), kWidth, batch, kWidth, p.begin, p.end,
                       y, y_stride);
     },
     nullptr, false},
    {"matmul_i8_i16", Weights::kI8, Activations::kI16,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i8_i16(o.weights<int8_t>(), o.scale.data(), o.q16.data(), o.scale16, kWidth, batch, kWidth,
                       p.begin, p.end, y, y_stride);
     },
     nullptr, false},
    {"matmul_i8_i8", Weights::kI8, Activations::kI8,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i8_i8(o.weights<int8_t>(), o.scale.data(), o.q8.data(), o.scale8, kWidth, batch, kWidth,
                      p.begin, p.end, y, y_stride);
     },
     nullptr, false},
    {"matmul_i4_f32", Weights::kI4, Activations::kF32,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i4_f32(o.weights<uint8_t>(), o.x.data(), kWidth, batch, kWidth, p.begin, p.end, y, y_stride);
     },
     nullptr, false},
    {"matmul_i4_i16", Weights::kI4, Activations::kI16,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i4_i16(o.weights<uint8_t>(), o.q16.data(), o.scale16, kWidth, batch, kWidth, p.begin, p.end,
                       y, y_stride);
     },
     nullptr, false},
    {"matmul_i4_i8", Weights::kI4, Activations::kI8,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_i4_i8(o.weights<uint8_t>(), o.q8.data(), o.scale8, kWidth, batch, kWidth, p.begin, p.end, y,
                      y_stride);
     },
     nullptr, false},
    {"matmul_f16_f32", Weights::kF16, Activations::kF32,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_f16_f32(o.weights<uint16_t>(), o.x.data(), kWidth, batch, kWidth, p.begin * kPanelRows,
                        p.end * kPanelRows, y, y_stride);
     },
     nullptr, false},
    {"matmul_t2_i8", Weights::kT2, Activations::kI8,
     [](const Kernels& k, const Operands& o, size_t batch, Range p, float* y, size_t y_stride) {
       k.matmul_t2_i8(o.weights<uint8_t>(), o.q8.data(), o.sum8, o.scale8, kWidth, batch, kWidth,
                      p.begin * kPanelRows, p.end * kPanelRows, y, y_stride);
     },
     nullptr, false},
    {"column_sum_f32", Weights::kF32, Activations::kF32, nullptr,
     [](const Kernels& k, const Operands& o, const Team& team, float* y, int32_t*) {
       const Range r = rows_of(team);
       k.column_sum_f32(o.weights<float>(), kWidth, o.active.data(), o.active.size(), r.begin, r.end, y);
     },
     false},
    // Exact sums are shared out by columns, as ops/linear.h does.
    {"column_sum_i8", Weights::kI8, Activations::kF32, nullptr,
     [](const Kernels& k, const Operands& o, const Team& team, float*, int32_t* sums) {
       const Range c = share(o.active.size(), 1, team.index(), team.size());
       k.column_sum_i8(o.weights<int8_t>(), kWidth, o.active.data() + c.begin, c.end - c.begin, 0, kWidth,
                       sums + team.index() * kWidth);
     },
     false},
    {"column_product_f32", Weights::kF32, Activations::kF32, nullptr,
     [](const Kernels& k, const Operands& o, const Team& team, float* y, int32_t*) {
       const Range r = rows_of(team);
       k.column_product_f32(o.weights<float>(), kWidth, o.column_x.data(), o.rows, r.begin, r.end, y);
     },
     true},
};
constexpr size_t kNMeasured = sizeof kMeasured / sizeof kMeasured[0];

/// One measurement of one kernel.
class Run {
 public:
  Run(const Measured& what, const kernels::Isa& isa, Pool& pool, size_t size_bytes, unsigned rounds)
      : what_(what),
        k_(*isa.kernels),
        pool_(pool),
        rounds_(rounds),
        o_(what.weights, size_bytes, pool, *isa.kernels),
        y_(std::max(o_.rows, kWidth)),
        sums_(pool.size() * kWidth),
        peak_(peak_of(isa.name, what.weights, what.activations)) {}

  KernelRate rate() {
    KernelRate out;
    const size_t n_columns = what_.all_columns ? o_.rows : o_.active.size();
    out.bytes = what_.product != nullptr ? o_.w.size() : n_columns * (o_.w.size() / o_.rows);
    against_reads(out);
    if (what_.product != nullptr) against_peak(out);
    return out;
  }

 private:
  double once_s() {
    return longest_s(pool_, ran_s, [&](Team& team) {
      if (what_.product != nullptr)
        what_.product(k_, o_, 1, share(o_.rows / kPanelRows, 1, team.index(), team.size()), y_.data(),
                      o_.rows);
      else
        what_.columns(k_, o_, team, y_.data(), sums_.data());
    });
  }

  double read_gb_per_s() {
    const double seconds = longest_s(pool_, ran_s, [&](Team& team) {
      const Range r = share(o_.w.size(), 4096, team.index(), team.size());
      sink_ ^= read_words(o_.w.data() + r.begin, r.end - r.begin);
    });
    return static_cast<double>(o_.w.size()) / seconds / 1e9;
  }

  void against_reads(KernelRate& out) {
    std::vector<double> ours, reads, shares;
    once_s();
    for (unsigned i = 0; i < rounds_; ++i) {
      const double before = read_gb_per_s();
      ours.push_back(static_cast<double>(out.bytes) / once_s() / 1e9);
      reads.push_back((before + read_gb_per_s()) / 2);
      shares.push_back(ours.back() / reads.back());
    }
    out.gb_per_s = spread_of(std::move(ours));
    out.read_gb_per_s = spread_of(std::move(reads));
    out.read_share = spread_of(std::move(shares));
  }

  double batches_s(size_t rows, size_t n_calls, float* y) {
    return longest_s(pool_, ran_s, [&](Team& team) {
      const Range panels = share(rows / kPanelRows, 1, team.index(), team.size());
      for (size_t i = 0; i < n_calls; ++i) what_.product(k_, o_, kTokens, panels, y, rows);
    });
  }

  void against_peak(KernelRate& out) {
    const size_t rows = std::min(kBatchRows, o_.rows);
    AlignedArray<float> y(kTokens * rows);
    out.tokens = kTokens;
    out.macs = rows * kWidth * kTokens;
    const size_t n_calls = enough_calls([&](size_t n) { return batches_s(rows, n, y.data()); });
    const auto batch_gmac_per_s = [&] {
      return static_cast<double>(n_calls * out.macs) / batches_s(rows, n_calls, y.data()) / 1e9;
    };
    std::vector<double> ours, peaks, shares;
    std::unique_ptr<PeakRate> peak;
    if (peak_ != nullptr) peak = std::make_unique<PeakRate>(pool_, *peak_, ran_s);
    for (unsigned i = 0; i < rounds_; ++i) {
      const double before = peak ? peak->gmac_per_s() : 0;
      ours.push_back(batch_gmac_per_s());
      if (!peak) continue;
      peaks.push_back((before + peak->gmac_per_s()) / 2);
      shares.push_back(ours.back() / peaks.back());
    }
    out.gmac_per_s = spread_of(std::move(ours));
    out.peak_gmac_per_s = spread_of(std::move(peaks));
    out.peak_share = spread_of(std::move(shares));
    out.peak_instructions = peak_ == nullptr ? nullptr : peak_->instructions;
  }

  const Measured& what_;
  const Kernels& k_;
  Pool& pool_;
  unsigned rounds_;
  Operands o_;
  AlignedArray<float> y_;
  AlignedArray<int32_t> sums_;
  const kernels::Peak* peak_;
  std::atomic<uint64_t> sink_{0};
};

}  // namespace

const char* measured_kernel(size_t i) { return i < kNMeasured ? kMeasured[i].name : nullptr; }

Result<KernelRate> kernel_rate(std::string_view isa, std::string_view kernel, unsigned n_threads,
                               size_t size_bytes, unsigned rounds) {
  const auto selected = kernels::select(isa);
  if (!selected.ok()) return selected.status();
  if (Status status = check_rounds("kernel rate", rounds); !status.ok()) return status;
  if (size_bytes < kLeastBytes)
    return Status{Code::ERR_INVALID_ARGUMENT,
                  format("kernel rate: expected at least %zu bytes, found %zu", kLeastBytes, size_bytes)};
  for (const Measured& what : kMeasured) {
    if (kernel != what.name) continue;
    auto opened = Pool::open(n_threads);
    if (!opened.ok()) return opened.status();
    const std::unique_ptr<Pool> pool = opened.take();
    return Run(what, *selected.value(), *pool, size_bytes, rounds).rate();
  }
  return Status{Code::ERR_INVALID_ARGUMENT, format("kernel \"%.64s\": expected a kernel that can be measured",
                                                   std::string(kernel).c_str())};
}

}  // namespace spiked::measure
