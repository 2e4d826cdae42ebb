#include <cstring>

#include "base/aligned.h"
#include "kernels/oracle.h"

namespace {

using namespace oracle;
using spiked::AlignedArray;

/// Byte of element (row, column) in panel_4x32, from docs/model-file.md.
size_t panel_byte(size_t row, size_t column, size_t cols, size_t element_bytes) {
  const size_t panel = row / 4, byte = column * element_bytes;
  return panel * 4 * cols * element_bytes + byte / 32 * 128 + row % 4 * 32 + byte % 32;
}

template <typename W>
struct Product {
  size_t rows = 12, cols = 96, batch = 3;
  std::vector<W> w;        // [rows, cols], logical
  AlignedArray<W> packed;  // panel_4x32
  std::vector<float> x, scale, y;

  explicit Product(std::mt19937& random) : w(rows * cols), packed(rows * cols) {
    std::uniform_int_distribution<int> draw(-127, 127);
    for (W& v : w) v = static_cast<W>(draw(random)) / static_cast<W>(sizeof(W) == 1 ? 1 : 64);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; ++c) {
        std::memcpy(reinterpret_cast<char*>(packed.data()) + panel_byte(r, c, cols, sizeof(W)),
                    &w[r * cols + c], sizeof(W));
      }
    }
    x = numbers(random, batch * cols);
    scale = numbers(random, rows);
    y.resize(batch * rows);
  }

  void check(unit::Test& t, bool scaled) const {
    for (size_t b = 0; b < batch; ++b) {
      for (size_t r = 0; r < rows; ++r) {
        double sum = 0, size = 0;
        for (size_t c = 0; c < cols; ++c) {
          const double term = static_cast<double>(w[r * cols + c]) * static_cast<double>(x[b * cols + c]);
          sum += term;
          size += std::fabs(term);
        }
        const double factor = scaled ? static_cast<double>(scale[r]) : 1;
        // cols / 8 fused steps a partial sum, three adds, one product.
        const double tolerance = (static_cast<double>(cols) / 8 + 4) * kUnit * size * std::fabs(factor);
        expect_near(t, "y", b * rows + r, factor * sum, y[b * rows + r], tolerance);
      }
    }
  }
};

const unit::Unit f32_unit("oracle: matmul_f32_f32 against f64", [](unit::Test& t) {
  std::mt19937 random(11);
  Product<float> p(random);
  scalar().matmul_f32_f32(p.packed.data(), p.x.data(), p.cols, p.batch, p.cols, 0, 3, p.y.data(), p.rows);
  p.check(t, false);
});

const unit::Unit i8_unit("oracle: matmul_i8_f32 against f64", [](unit::Test& t) {
  std::mt19937 random(12);
  Product<int8_t> p(random);
  scalar().matmul_i8_f32(p.packed.data(), p.scale.data(), p.x.data(), p.cols, p.batch, p.cols, 0, 3,
                         p.y.data(), p.rows);
  p.check(t, true);
});

double largest_size(const float* x, size_t n) {
  double max = 0;
  for (size_t i = 0; i < n; ++i) {
    const double size = std::fabs(static_cast<double>(x[i]));
    if (size > max) max = size;
  }
  return max;
}

template <typename Q, typename Quantize, typename Matmul>
void check_quantized(unit::Test& t, double largest_code, Quantize quantize, Matmul matmul) {
  std::mt19937 random(16);
  Product<int8_t> p(random);
  std::vector<Q> q(p.x.size());
  std::vector<float> q_scale(p.batch);
  for (size_t b = 0; b < p.batch; ++b) {
    const float* x = &p.x[b * p.cols];
    q_scale[b] = quantize(x, p.cols, &q[b * p.cols]);
    const double max = largest_size(x, p.cols);
    expect_near(t, "scale", b, max / largest_code, q_scale[b], kUnit * max / largest_code);
    for (size_t c = 0; c < p.cols; ++c) {
      const double code = static_cast<double>(x[c]) / static_cast<double>(q_scale[b]);
      // Half a code, and the quotient's own rounding.
      expect_near(t, "q", b * p.cols + c, code, static_cast<float>(q[b * p.cols + c]),
                  0.5 + 2 * kUnit * largest_code);
    }
  }
  matmul(p.packed.data(), p.scale.data(), q.data(), q_scale.data(), p.cols, p.batch, p.cols, 0, 3, p.y.data(),
         p.rows);
  for (size_t b = 0; b < p.batch; ++b) {
    for (size_t r = 0; r < p.rows; ++r) {
      double sum = 0;  // exact: every product and sum is an integer
      for (size_t c = 0; c < p.cols; ++c) {
        sum += static_cast<double>(p.w[r * p.cols + c]) * static_cast<double>(q[b * p.cols + c]);
      }
      const float expected = static_cast<float>(sum) * (q_scale[b] * p.scale[r]);
      t.expect(p.y[b * p.rows + r] == expected,
               spiked::format("token %zu, row %zu: expected %a, found %a", b, r,
                              static_cast<double>(expected), static_cast<double>(p.y[b * p.rows + r])));
    }
  }
  const auto largest = static_cast<Q>(largest_code);
  const float ties[6] = {static_cast<float>(largest), 0.5f, 1.5f, 2.5f, -0.5f, -1.5f};
  const Q even[6] = {largest, 0, 2, 2, 0, -2};
  Q codes[6];
  t.expect(quantize(ties, 6, codes) == 1.0f && std::memcmp(codes, even, sizeof codes) == 0,
           "halves go to even");
  const float zeros[2] = {0.0f, -0.0f};
  t.expect(quantize(zeros, 2, codes) == 1.0f && codes[0] == 0 && codes[1] == 0, "zeros have scale 1");
}

const unit::Unit i8_activations_unit("oracle: quantize_i8 and matmul_i8_i8 by their formulas",
                                     [](unit::Test& t) {
                                       check_quantized<int8_t>(t, 127, scalar().quantize_i8,
                                                               scalar().matmul_i8_i8);
                                     });

const unit::Unit i16_activations_unit("oracle: quantize_i16 and matmul_i8_i16 by their formulas",
                                      [](unit::Test& t) {
                                        check_quantized<int16_t>(t, 32639, scalar().quantize_i16,
                                                                 scalar().matmul_i8_i16);
                                      });

const unit::Unit wide_sum_unit(
    "oracle: the sum of matmul_i8_i16 passes 2^31 and is rounded once", [](unit::Test& t) {
      const size_t cols = 4096;
      AlignedArray<int8_t> w(4 * cols);
      std::vector<int16_t> q(cols, 32639);
      for (size_t i = 0; i < w.size(); ++i) w[i] = 127;
      q[5] = 32638;
      const float one[4] = {1, 1, 1, 1};
      float y[4];
      scalar().matmul_i8_i16(w.data(), one, q.data(), one, cols, 1, cols, 0, 1, y, 4);
      const double sum = 127.0 * (32639.0 * static_cast<double>(cols) - 1);
      for (float v : y) t.expect(v == static_cast<float>(sum), "expected the exact sum, rounded once");
    });

const unit::Unit column_product_unit("oracle: column_product_f32 against f64", [](unit::Test& t) {
  std::mt19937 random(17);
  const size_t rows = 64, cols = 50;
  const std::vector<float> w = numbers(random, rows * cols), x = numbers(random, cols);
  std::vector<float> y(rows);
  scalar().column_product_f32(w.data(), rows, x.data(), cols, 0, rows, y.data());
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0, size = 0;
    for (size_t c = 0; c < cols; ++c) {
      const double term = static_cast<double>(w[c * rows + r]) * static_cast<double>(x[c]);
      sum += term;
      size += std::fabs(term);
    }
    expect_near(t, "y", r, sum, y[r], static_cast<double>(cols) * kUnit * size);
  }
});

const unit::Unit columns_unit("oracle: column_sum_f32 against f64, column_sum_i8 exactly", [](unit::Test& t) {
  std::mt19937 random(13);
  const size_t rows = 128, columns = 700;
  const std::vector<float> w = numbers(random, rows * columns), scale = numbers(random, rows);
  std::vector<int8_t> q(rows * columns);
  for (int8_t& v : q) v = random() % 4 == 0 ? int8_t{-127} : int8_t{127};
  std::vector<uint32_t> active;
  for (uint32_t c = 0; c < columns; ++c) {
    if (c % 7 != 3) active.push_back(c);
  }
  std::vector<float> y(rows), yq(rows);
  scalar().column_sum_f32(w.data(), rows, active.data(), active.size(), 0, rows, y.data());
  // In two parts, as two workers would sum them.
  std::vector<int32_t> sums(2 * rows);
  const size_t half = active.size() / 2;
  scalar().column_sum_i8(q.data(), rows, active.data(), half, 0, rows, sums.data());
  scalar().column_sum_i8(q.data(), rows, active.data() + half, active.size() - half, 0, rows,
                         sums.data() + rows);
  scalar().scale_sums(sums.data(), rows, 2, scale.data(), 0, rows, yq.data());
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0, size = 0;
    int64_t exact = 0;
    for (uint32_t c : active) {
      sum += static_cast<double>(w[c * rows + r]);
      size += std::fabs(static_cast<double>(w[c * rows + r]));
      exact += q[c * rows + r];
    }
    expect_near(t, "y", r, sum, y[r], static_cast<double>(active.size()) * kUnit * size);
    // The sum fits f32 and the product f64, so one rounding is left.
    const float expected = static_cast<float>(static_cast<double>(scale[r]) * static_cast<double>(exact));
    t.expect(yq[r] == expected, spiked::format("i8 row %zu: expected %a, found %a", r,
                                               static_cast<double>(expected), static_cast<double>(yq[r])));
  }
});

const unit::Unit attend_unit("oracle: attend_scores and attend_values against f64", [](unit::Test& t) {
  std::mt19937 random(14);
  const size_t n_heads = 3, head_dim = 45, stride = 50, n_keys = 9;
  const uint32_t slots[n_keys] = {7, 8, 9, 0, 1, 2, 3, 4, 4};
  const std::vector<float> q = numbers(random, n_heads * head_dim), rows = numbers(random, 10 * stride);
  const std::vector<float> p = numbers(random, n_heads * n_keys);
  std::vector<float> scores(n_heads * n_keys), y(n_heads * head_dim);
  scalar().attend_scores(q.data(), n_heads, rows.data(), stride, slots, n_keys, head_dim, 0.25f,
                         scores.data());
  scalar().attend_values(p.data(), n_heads, rows.data(), stride, slots, n_keys, head_dim, y.data());
  for (size_t score = 0; score < n_heads * n_keys; ++score) {
    const size_t h = score / n_keys, i = score % n_keys;
    double sum = 0, size = 0;
    for (size_t c = 0; c < head_dim; ++c) {
      const double term =
          static_cast<double>(q[h * head_dim + c]) * static_cast<double>(rows[slots[i] * stride + c]);
      sum += term;
      size += std::fabs(term);
    }
    expect_near(t, "scores", score, sum / 4, scores[score],
                (static_cast<double>(head_dim) / 8 + 5) * kUnit * size);
  }
  for (size_t value = 0; value < n_heads * head_dim; ++value) {
    const size_t h = value / head_dim, j = value % head_dim;
    double sum = 0, size = 0;
    for (size_t i = 0; i < n_keys; ++i) {
      const double term =
          static_cast<double>(p[h * n_keys + i]) * static_cast<double>(rows[slots[i] * stride + j]);
      sum += term;
      size += std::fabs(term);
    }
    expect_near(t, "y", value, sum, y[value], static_cast<double>(n_keys) * kUnit * size);
  }
});

const unit::Unit order_unit("oracle: a dot product is eight partial sums and one tree", [](unit::Test& t) {
  std::mt19937 random(15);
  const std::vector<float> q(16, 1.0f);  // with q = 1 a fused step is an add
  int differs_in_order = 0, differs_in_pairs = 0;
  for (int i = 0; i < 50; ++i) {
    const std::vector<float> k = numbers(random, 16);
    float p[8];
    for (size_t j = 0; j < 8; ++j) p[j] = k[j] + k[j + 8];
    const float expected = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    const float in_pairs = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    float in_order = 0;
    for (float v : k) in_order += v;
    differs_in_order += in_order != expected;
    differs_in_pairs += in_pairs != expected;
    const uint32_t slot = 0;
    float found = 0;
    scalar().attend_scores(q.data(), 1, k.data(), 16, &slot, 1, 16, 1.0f, &found);
    t.expect(found == expected, spiked::format("expected %a, found %a", static_cast<double>(expected),
                                               static_cast<double>(found)));
  }
  t.expect(differs_in_order > 0 && differs_in_pairs > 0, "the numbers must tell orders apart");
});

const unit::Unit fused_unit("oracle: steps of a dot product are fused, residuals and mixes are not",
                            [](unit::Test& t) {
                              // (1 + u)(1 - u) - 1 is -u^2 when fused and 0 when the product is rounded first; u = 2^-13.
                              const float a = 1.0f + 0x1p-13f, b = 1.0f - 0x1p-13f;
                              const float q[9] = {-1.0f, 0, 0, 0, 0, 0, 0, 0, a},
                                          k[9] = {1.0f, 0, 0, 0, 0, 0, 0, 0, b};
                              const uint32_t slot = 0;
                              float score = 1;
                              scalar().attend_scores(q, 1, k, 9, &slot, 1, 9, 1.0f, &score);
                              t.expect(score == -0x1p-26f, "attend_scores must fuse");
                              float y = -1.0f;
                              scalar().scaled_add(a, &b, 1, &y);
                              t.expect(y == 0.0f, "scaled_add must round the product");
                            });

}  // namespace
