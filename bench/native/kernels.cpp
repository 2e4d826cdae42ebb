// spiked_bench_kernels [threads] [MiB] [rounds] [isa]: what each memory-bound kernel reads a second, beside plain reads of the same
// memory by the same threads, in turn. Prints one JSON line; docs/bench/README.md says how to read it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "capi/spiked.h"
#include "kernels/layout.h"
#include "measure.h"

namespace {

using namespace bench;

constexpr size_t kWidth = 1536;    // columns of a panel matrix, rows of a column-major one
constexpr size_t kActiveEach = 4;  // one column in four is active, on average
constexpr size_t kBatch = 32;

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
  lines.push_back(against_reads(o, pool, matmul_name, m.rows * kWidth * sizeof(W), m.w, [&](Team& team) {
    const Range r = share(m.rows / layout::kPanelRows, 1, team.index(), team.size());
    matmul(m, 1, r, m.y.data(), m.rows);
  }));
  lines.push_back(against_reads(
      o, pool, column_name, m.active.size() * kWidth * sizeof(W), m.w,
      [&](Team& team) { column_sum(m, share(kWidth, layout::kColumnRows, team.index(), team.size())); }));
  lines.push_back(
      arithmetic(o, pool, matmul_name, kBatch, Matrix<W>::kRows * kWidth * kBatch, [&](Team& team) {
        const Range r = share(Matrix<W>::kRows / layout::kPanelRows, 1, team.index(), team.size());
        matmul(m, kBatch, r, m.out.data(), Matrix<W>::kRows);
      }));
  return lines;
}

/// Quantised activations of kBatch tokens.
template <typename Q, typename Quantize>
struct QuantizedTokens {
  QuantizedTokens(const AlignedArray<float>& x, Quantize quantize) : q(kWidth * kBatch) {
    for (size_t t = 0; t < kBatch; ++t)
      scale[t] = quantize(x.data() + t * kWidth, kWidth, q.data() + t * kWidth);
  }
  AlignedArray<Q> q;
  float scale[kBatch];
};

/// One token against plain reads of the weights, and the arithmetic of kBatch tokens over 512 rows that fit a cache.
/// product(batch, panels, y, y_stride)
template <typename W, typename Product>
void both(const Options& o, Pool& pool, const char* name, size_t bytes, size_t rows, const AlignedArray<W>& w,
          std::vector<std::string>& lines, Product product) {
  AlignedArray<float> y(rows), out(kBatch * Matrix<W>::kRows);
  lines.push_back(against_reads(o, pool, name, bytes, w, [&](Team& team) {
    product(1, share(rows / layout::kPanelRows, 1, team.index(), team.size()), y.data(), rows);
  }));
  lines.push_back(arithmetic(o, pool, name, kBatch, Matrix<W>::kRows * kWidth * kBatch, [&](Team& team) {
    product(kBatch, share(Matrix<W>::kRows / layout::kPanelRows, 1, team.index(), team.size()), out.data(),
            Matrix<W>::kRows);
  }));
}

/// INT8 weights with quantised activations.
void int8_activations(const Options& o, Pool& pool, std::vector<std::string>& lines) {
  const kernels::Kernels& k = *o.isa->kernels;
  const Matrix<int8_t> m(o.size_bytes);
  const QuantizedTokens<int8_t, kernels::QuantizeI8> x8(m.x, k.quantize_i8);
  const QuantizedTokens<int16_t, kernels::QuantizeI16> x16(m.x, k.quantize_i16);
  const size_t bytes = m.rows * kWidth;
  both(o, pool, "matmul_i8_i8", bytes, m.rows, m.w, lines,
       [&](size_t batch, Range r, float* y, size_t y_stride) {
         k.matmul_i8_i8(m.w.data(), m.scale.data(), x8.q.data(), x8.scale, kWidth, batch, kWidth, r.begin,
                        r.end, y, y_stride);
       });
  both(o, pool, "matmul_i8_i16", bytes, m.rows, m.w, lines,
       [&](size_t batch, Range r, float* y, size_t y_stride) {
         k.matmul_i8_i16(m.w.data(), m.scale.data(), x16.q.data(), x16.scale, kWidth, batch, kWidth, r.begin,
                         r.end, y, y_stride);
       });
}

/// INT4 weights with activations of each kind; the bytes hold the scales, too.
void int4_weights(const Options& o, Pool& pool, std::vector<std::string>& lines) {
  const kernels::Kernels& k = *o.isa->kernels;
  const size_t panels = o.size_bytes / layout::i4_panel_bytes(kWidth), rows = panels * layout::kPanelRows;
  AlignedArray<uint8_t> w(panels * layout::i4_panel_bytes(kWidth));
  AlignedArray<float> x(kWidth * kBatch);
  Random random;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint8_t>(random.next() >> 56);
  for (size_t panel = 0; panel < panels; ++panel) {
    for (size_t g = 0; g < kWidth / layout::kGroupColumns; ++g) {
      for (size_t r = 0; r < layout::kPanelRows; ++r) {
        const uint16_t scale = 0x211f;  // 0.01
        std::memcpy(
            w.data() + panel * layout::i4_panel_bytes(kWidth) + layout::i4_scales_at(g) + r * sizeof scale,
            &scale, sizeof scale);
      }
    }
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] = random.number();
  const QuantizedTokens<int8_t, kernels::QuantizeI8> x8(x, k.quantize_i8);
  const QuantizedTokens<int16_t, kernels::QuantizeI16> x16(x, k.quantize_i16);
  both(o, pool, "matmul_i4_f32", w.size(), rows, w, lines,
       [&](size_t batch, Range r, float* y, size_t y_stride) {
         k.matmul_i4_f32(w.data(), x.data(), kWidth, batch, kWidth, r.begin, r.end, y, y_stride);
       });
  both(o, pool, "matmul_i4_i8", w.size(), rows, w, lines,
       [&](size_t batch, Range r, float* y, size_t y_stride) {
         k.matmul_i4_i8(w.data(), x8.q.data(), x8.scale, kWidth, batch, kWidth, r.begin, r.end, y, y_stride);
       });
  both(o, pool, "matmul_i4_i16", w.size(), rows, w, lines,
       [&](size_t batch, Range r, float* y, size_t y_stride) {
         k.matmul_i4_i16(w.data(), x16.q.data(), x16.scale, kWidth, batch, kWidth, r.begin, r.end, y,
                         y_stride);
       });
}

/// The dense product over column_major weights, for comparing layouts.
std::string column_product(const Options& o, Pool& pool) {
  const Matrix<float> m(o.size_bytes);
  const size_t columns = m.rows;
  AlignedArray<float> x(columns), y(kWidth);
  for (size_t c = 0; c < columns; ++c) x[c] = m.x[c % m.x.size()];
  return against_reads(o, pool, "column_product_f32", columns * kWidth * sizeof(float), m.w, [&](Team& team) {
    const Range r = share(kWidth, layout::kColumnRows, team.index(), team.size());
    o.isa->kernels->column_product_f32(m.w.data(), kWidth, x.data(), columns, r.begin, r.end, y.data());
  });
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
        k.column_sum_i8(m.w.data(), kWidth, m.active.data(), m.active.size(), r.begin, r.end,
                        reinterpret_cast<int32_t*>(m.column_y.data()));
      });
  int8_activations(o, *pool, lines);
  int4_weights(o, *pool, lines);
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
  lines.push_back(column_product(o, *pool));
  spiked_build build{};
  spiked_build_info(&build);
  std::printf(
      "{\"bench\":\"kernels\",\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"isa\":\"%s\","
      "\"threads\":%u,"
      "\"rounds\":%u,\"results\":[",
      build.version, build.commit, build.compiler, o.isa->name, o.n_threads, o.rounds);
  for (size_t i = 0; i < lines.size(); ++i) {
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
