#include <cstring>

#include "base/aligned.h"
#include "base/half.h"
#include "kernels/oracle.h"

namespace {

using namespace oracle;
using spiked::AlignedArray;

double d(float x) { return static_cast<double>(x); }

/// A logical 4-bit matrix and the same in panel_4x32_i4, as docs/model-file.md draws it; 9 groups, so that a second block begins.
struct I4Product {
  static constexpr size_t rows = 8, cols = 288, batch = 2, groups = cols / 32;
  std::vector<int> w;        // [rows, cols]
  std::vector<float> scale;  // [rows, groups]
  AlignedArray<uint8_t> packed;
  std::vector<float> x;

  explicit I4Product(std::mt19937& random)
      : w(rows * cols), scale(rows * groups), packed(rows / 4 * (groups * 64 + 2 * 64)) {
    std::uniform_int_distribution<int> draw(-7, 7);
    for (int& v : w) v = draw(random);
    for (size_t r = 0; r < rows; ++r) {
      uint8_t* panel = packed.data() + r / 4 * (groups * 64 + 2 * 64);
      for (size_t g = 0; g < groups; ++g) {
        uint8_t* block = panel + g / 8 * (64 + 8 * 64);
        const auto bits = static_cast<uint16_t>(0x2c00u + random() % 0x1000u);  // 2^-4 to 2^0
        scale[r * groups + g] = spiked::half::to_f32(bits);
        std::memcpy(block + (g % 8 * 4 + r % 4) * 2, &bits, 2);
        for (size_t l = 0; l < 4; ++l) {
          uint32_t lane = 0;
          for (size_t k = 0; k < 8; ++k)
            lane |= (static_cast<uint32_t>(w[r * cols + g * 32 + 4 * k + l]) & 0xfu) << (4 * k);
          std::memcpy(block + 64 + g % 8 * 64 + r % 4 * 16 + l * 4, &lane, 4);
        }
      }
    }
    x = numbers(random, batch * cols);
  }

  /// The contract's order, over the logical matrix: sum(r, g, lane) is a group's sum of one lane.
  template <typename Sum>
  float ordered(size_t r, Sum sum) const {
    float p[4] = {};
    for (size_t g = 0; g < groups; ++g)
      for (size_t l = 0; l < 4; ++l) p[l] = std::fma(sum(r, g, l), scale[r * groups + g], p[l]);
    return (p[0] + p[2]) + (p[1] + p[3]);
  }

  /// y = factor * sum of w * scale * value(c), in f64 and in the contract's order.
  template <typename Value, typename Sum>
  void check(unit::Test& t, size_t token, const float* y, float factor, Value value, Sum sum) const {
    for (size_t r = 0; r < rows; ++r) {
      double truth = 0, size = 0;
      for (size_t c = 0; c < cols; ++c) {
        const double term = w[r * cols + c] * d(scale[r * groups + c / 32]) * value(c);
        truth += term;
        size += std::fabs(term);
      }
      // Eight fused steps a lane's sum, one a group, two adds, one product.
      expect_near(t, "y", token * rows + r, truth * d(factor), y[r],
                  (8 + static_cast<double>(groups) + 3) * kUnit * size * std::fabs(d(factor)));
      const float expected = ordered(r, sum) * factor;
      t.expect(y[r] == expected, spiked::format("token %zu, row %zu: expected %a in the order, found %a",
                                                token, r, d(expected), d(y[r])));
    }
  }
};

const unit::Unit f32_unit("oracle: matmul_i4_f32 against f64 and its order", [](unit::Test& t) {
  std::mt19937 random(31);
  const I4Product p(random);
  std::vector<float> y(p.batch * p.rows);
  scalar().matmul_i4_f32(p.packed.data(), p.x.data(), p.cols, p.batch, p.cols, 0, 2, y.data(), p.rows);
  for (size_t b = 0; b < p.batch; ++b) {
    const float* x = &p.x[b * p.cols];
    p.check(
        t, b, &y[b * p.rows], 1.0f, [&](size_t c) { return d(x[c]); },
        [&](size_t r, size_t g, size_t l) {
          float sum = 0;
          for (size_t c = 32 * g + l; c < 32 * g + 32; c += 4)
            sum = std::fma(static_cast<float>(p.w[r * p.cols + c]), x[c], sum);
          return sum;
        });
  }
});

template <typename Q, typename Quantize, typename Matmul>
void check_quantized(unit::Test& t, Quantize quantize, Matmul matmul) {
  std::mt19937 random(32);
  const I4Product p(random);
  std::vector<float> y(p.batch * p.rows), q_scale(p.batch);
  std::vector<Q> q(p.x.size());
  for (size_t b = 0; b < p.batch; ++b) q_scale[b] = quantize(&p.x[b * p.cols], p.cols, &q[b * p.cols]);
  matmul(p.packed.data(), q.data(), q_scale.data(), p.cols, p.batch, p.cols, 0, 2, y.data(), p.rows);
  for (size_t b = 0; b < p.batch; ++b) {
    const Q* codes = &q[b * p.cols];
    p.check(
        t, b, &y[b * p.rows], q_scale[b], [&](size_t c) { return static_cast<double>(codes[c]); },
        [&](size_t r, size_t g, size_t l) {
          int64_t sum = 0;
          for (size_t c = 32 * g + l; c < 32 * g + 32; c += 4) sum += p.w[r * p.cols + c] * codes[c];
          return static_cast<float>(sum);
        });
  }
}

const unit::Unit i8_unit("oracle: matmul_i4_i8 against f64 and its order", [](unit::Test& t) {
  check_quantized<int8_t>(t, scalar().quantize_i8, scalar().matmul_i4_i8);
});

const unit::Unit i16_unit("oracle: matmul_i4_i16 against f64 and its order", [](unit::Test& t) {
  check_quantized<int16_t>(t, scalar().quantize_i16, scalar().matmul_i4_i16);
});

}  // namespace
