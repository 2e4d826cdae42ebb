// spiked_bench_kernels [threads] [MiB] [rounds] [isa]: what each memory-bound kernel reads a second, beside plain reads measured in
// turn with it. Prints one JSON line; docs/bench/README.md says how to read it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "capi/spiked.h"
#include "kernels/dispatch.h"
#include "kernels/layout.h"
#include "threads/partition.h"
#include "threads/pool.h"
#include "threads/read_bandwidth.h"

namespace {

using namespace spiked;

constexpr size_t kWidth = 1536;    // columns of a panel matrix, rows of a column-major one
constexpr size_t kActiveEach = 4;  // one column in four is active, on average
constexpr size_t kBatch = 32;

struct Options {
  unsigned n_threads, rounds;
  size_t size_bytes;
  const kernels::Isa* isa;
};

struct Random {
  uint64_t state = 1;
  uint64_t next() { return state = state * 6364136223846793005u + 1442695040888963407u; }
  float number() { return static_cast<float>(static_cast<int32_t>(next() >> 32)) * 0x1p-31f; }
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// "name":{"median":..,"min":..,"max":..}
std::string summary(const char* name, std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return format("\"%s\":{\"median\":%.3f,\"min\":%.3f,\"max\":%.3f}", name, v[v.size() / 2], v.front(),
                v.back());
}

/// Times `kernel` and plain reads in turn; `bytes` are what one call has to read.
template <typename Kernel>
std::string against_reads(const Options& o, const char* name, size_t bytes, Kernel kernel) {
  std::vector<double> ours, reads, share;
  kernel();
  for (unsigned i = 0; i < o.rounds; ++i) {
    const auto before = read_bandwidth_gb_s(o.n_threads, o.size_bytes / 2, 1);
    const double begin_s = now_s();
    kernel();
    ours.push_back(static_cast<double>(bytes) / (now_s() - begin_s) / 1e9);
    const auto after = read_bandwidth_gb_s(o.n_threads, o.size_bytes / 2, 1);
    if (!before.ok() || !after.ok()) return "";
    reads.push_back((before.value() + after.value()) / 2);
    share.push_back(ours.back() / reads.back());
  }
  return format("{\"kernel\":\"%s\",\"bytes\":%zu,%s,%s,%s}", name, bytes, summary("gb_per_s", ours).c_str(),
                summary("read_gb_per_s", reads).c_str(), summary("share", share).c_str());
}

/// Arithmetic rate of a batch over weights that stay in the cache.
template <typename Kernel>
std::string arithmetic(const Options& o, const char* name, size_t macs, Kernel kernel) {
  std::vector<double> rate;
  kernel();
  for (unsigned i = 0; i < o.rounds; ++i) {
    const double begin_s = now_s();
    kernel();
    rate.push_back(2 * static_cast<double>(macs) / (now_s() - begin_s) / 1e9);
  }
  return format("{\"kernel\":\"%s\",\"batch\":%zu,%s}", name, kBatch, summary("gflop_per_s", rate).c_str());
}

template <typename W>
struct Matrix {
  explicit Matrix(size_t size_bytes)
      : rows(size_bytes / sizeof(W) / kWidth / 64 * 64),
        w(rows * kWidth),
        scale(rows),
        x(kWidth * kBatch),
        y(rows),
        out(kBatch * kRows),
        column_y(kWidth) {
    Random random;
    for (size_t i = 0; i < w.size(); ++i) {
      w[i] = sizeof(W) == 1 ? static_cast<W>(random.next() >> 56) : static_cast<W>(random.number());
    }
    for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.01f;
    for (size_t i = 0; i < x.size(); ++i) x[i] = random.number();
    for (size_t c = 0; c < rows; ++c) {
      if ((random.next() >> 40) % kActiveEach == 0) active.push_back(static_cast<uint32_t>(c));
    }
  }
  static constexpr size_t kRows = 512;  // of the batch measurement: they fit a cache
  size_t rows;
  AlignedArray<W> w;
  AlignedArray<float> scale, x, y, out, column_y;
  std::vector<uint32_t> active;
};

template <typename W, typename Matmul, typename ColumnSum>
std::vector<std::string> measure(const Options& o, Pool& pool, const char* matmul_name,
                                 const char* column_name, Matmul matmul, ColumnSum column_sum) {
  Matrix<W> m(o.size_bytes);
  std::vector<std::string> lines;
  lines.push_back(against_reads(o, matmul_name, m.rows * kWidth * sizeof(W), [&] {
    pool.run([&](Team& team) {
      const Range r = share(m.rows / layout::kPanelRows, 1, team.index(), team.size());
      matmul(m, 1, r, m.y.data(), m.rows);
    });
  }));
  lines.push_back(against_reads(o, column_name, m.active.size() * kWidth * sizeof(W), [&] {
    pool.run(
        [&](Team& team) { column_sum(m, share(kWidth, layout::kColumnRows, team.index(), team.size())); });
  }));
  lines.push_back(arithmetic(o, matmul_name, Matrix<W>::kRows * kWidth * kBatch, [&] {
    pool.run([&](Team& team) {
      const Range r = share(Matrix<W>::kRows / layout::kPanelRows, 1, team.index(), team.size());
      matmul(m, kBatch, r, m.out.data(), Matrix<W>::kRows);
    });
  }));
  return lines;
}

int run(const Options& o) {
  const kernels::Kernels& k = *o.isa->kernels;
  auto opened = Pool::open(o.n_threads);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().message().c_str());
    return 1;
  }
  const std::unique_ptr<Pool> pool = opened.take();
  std::vector<std::string> lines = measure<int8_t>(
      o, *pool, "matmul_i8_f32", "column_sum_i8",
      [&](Matrix<int8_t>& m, size_t batch, Range r, float* y, size_t y_stride) {
        k.matmul_i8_f32(m.w.data(), m.scale.data(), m.x.data(), kWidth, batch, kWidth, r.begin, r.end, y,
                        y_stride);
      },
      [&](Matrix<int8_t>& m, Range r) {
        k.column_sum_i8(m.w.data(), m.scale.data(), kWidth, m.active.data(), m.active.size(), r.begin, r.end,
                        m.column_y.data());
      });
  for (std::string& line : measure<float>(
           o, *pool, "matmul_f32_f32", "column_sum_f32",
           [&](Matrix<float>&m, size_t batch, Range r, float*y, size_t y_stride) {
             k.matmul_f32_f32(m.w.data(), m.x.data(), kWidth, batch, kWidth, r.begin, r.end, y, y_stride);
           },
           [&](Matrix<float>&m, Range r) {
             k.column_sum_f32(m.w.data(), kWidth, m.active.data(), m.active.size(), r.begin, r.end,
                              m.column_y.data());
           })) {
    lines.push_back(std::move(line));
  }
  spiked_build build{};
  spiked_build_info(&build);
  std::printf(
      "{\"bench\":\"kernels\",\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"isa\":\"%s\","
      "\"threads\":%u,"
      "\"rounds\":%u,\"results\":[",
      build.version, build.commit, build.compiler, o.isa->name, o.n_threads, o.rounds);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) {
      std::fprintf(stderr, "read bandwidth could not be measured\n");
      return 1;
    }
    std::printf("%s%s", i == 0 ? "" : ",", lines[i].c_str());
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, unsigned long otherwise) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : otherwise;
  };
  const auto isa = kernels::select(argc > 4 ? argv[4] : "");
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.status().message().c_str());
    return 1;
  }
  return run({static_cast<unsigned>(number(1, 1)), static_cast<unsigned>(number(3, 7)), number(2, 1024) << 20,
              isa.value()});
}
