#include <algorithm>

#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

constexpr size_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 29, 32, 53, 2560};

/// Largest values of a row, around the contract's floor of 1e-5 and the ends of f32.
constexpr float kLargest[] = {0.0f,        -0.0f,   0x1p-149f, 1e-38f, 9.9999e-6f, 0x1.4f8b58p-17f,
                              1.00001e-5f, 0.0625f, 127.0f,    3e38f};

enum class Row { kPattern, kTies, kScaled };

void fill_row(Random& random, Row kind, Pattern pattern, float largest, float* x, size_t n) {
  if (kind == Row::kPattern) return fill(random, pattern, x, n);
  for (size_t i = 0; i < n; ++i) {
    x[i] = kind == Row::kTies ? static_cast<float>(random.below(509)) * 0.5f - 127.0f
                              : static_cast<float>(random.below(2001)) * 0.001f - 1.0f;
    if (kind == Row::kScaled) x[i] *= largest;
  }
  if (n != 0) x[random.below(n)] = kind == Row::kTies ? 127.0f : largest;
}

void compare_rows(Tally& tally, const TernaryRow& expected, const TernaryRow& found) {
  if (!same(expected.absmax, found.absmax))
    tally.fail(difference("absmax", 0, expected.absmax, found.absmax));
  if (!same(expected.multiplier, found.multiplier))
    tally.fail(difference("multiplier", 0, expected.multiplier, found.multiplier));
  if (!same(expected.sum, found.sum)) tally.fail(difference("sum", 0, expected.sum, found.sum));
}

void sweep_quantize(QuantizeTernary scalar, QuantizeTernary tested, Tally& tally) {
  Random random(tally.seed());
  const auto check = [&](size_t n, Row kind, Pattern pattern, float largest, const char* what) {
    tally.begin_case(format("%zu values, %s, largest %g", n, what, static_cast<double>(largest)));
    Input<float> x(n, random.below(5));
    fill_row(random, kind, pattern, largest, x.data(), n);
    Input<int8_t> before(n);
    fill(random, Pattern::kRandom, before.data(), n);
    Output<int8_t> q(before.data(), n, random.below(5));
    const TernaryRow expected = scalar(x.data(), n, q.reference());
    compare_rows(tally, expected, tested(x.data(), n, q.tested()));
    q.compare(tally, "q");
    return !tally.done();
  };
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns)
      if (!check(n, Row::kPattern, pattern, 0.0f, name(pattern))) return;
    if (!check(n, Row::kTies, Pattern::kRandom, 127.0f, "ties")) return;
    for (float largest : kLargest)
      if (!check(n, Row::kScaled, Pattern::kRandom, largest, "scaled")) return;
  }
}

struct Shape {
  size_t rows, cols, batch, row_begin, row_end;
};

// Around the block of 128 columns, the runs of blocks after which 16-bit lanes are widened (7 and 15), the tiles of rows and tokens
// (4), the rows that all tokens walk before the next ones (at 6,912 columns 75); 2,560 and 6,912 are a model's, 32,640 the widest.
constexpr Shape kShapes[] = {
    {1, 128, 1, 0, 1},   {3, 128, 3, 0, 3},    {5, 256, 2, 1, 5},  {9, 384, 5, 0, 9},  {4, 896, 1, 0, 4},
    {4, 1024, 1, 2, 4},  {6, 1024, 4, 0, 6},   {5, 1920, 6, 0, 4}, {5, 2048, 7, 1, 5}, {8, 2560, 1, 0, 8},
    {7, 2560, 17, 2, 7}, {80, 6912, 2, 0, 80}, {4, 6912, 5, 1, 4}, {5, 6912, 1, 0, 5}, {2, 32640, 1, 0, 2},
    {5, 32640, 5, 0, 5}, {3, 256, 3, 1, 1},    {3, 3840, 1, 0, 3}, {1, 3968, 8, 0, 1},
};

// The weight +1 or -1 everywhere over the ends of int8 is what overflows a 16-bit lane that is not widened in time.
constexpr Pattern kWeights[] = {Pattern::kRandom, Pattern::kLowest, Pattern::kHighest, Pattern::kAlternating};
constexpr Pattern kCodes[] = {Pattern::kRandom, Pattern::kLowest, Pattern::kHighest, Pattern::kAlternating};

}  // namespace

void sweep_quantize_ternary(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_quantize(scalar.quantize_ternary, tested.quantize_ternary, tally);
}

void sweep_quantize_ternary_half_away(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_quantize(scalar.quantize_ternary_half_away, tested.quantize_ternary_half_away, tally);
}

void sweep_matmul_t2_i8(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (Pattern weights : kWeights) {
      for (Pattern codes : kCodes) {
        const size_t q_stride = s.cols + 32 * random.below(3), y_stride = s.rows + random.below(5);
        tally.begin_case(format("rows [%zu, %zu), %zu columns, batch %zu, weights %s, activations %s",
                                s.row_begin, s.row_end, s.cols, s.batch, name(weights), name(codes)));
        Input<uint8_t> w(s.rows * s.cols / 4, random.below(64));
        fill_t2(random, weights, w.data(), w.size());
        const Input<int8_t> q(random, codes, (s.batch - 1) * q_stride + s.cols);
        Input<int32_t> sums(s.batch);
        for (size_t t = 0; t < s.batch; ++t) {
          const int8_t* row = q.data() + t * q_stride;
          sums[t] = 0;
          for (size_t c = 0; c < s.cols; ++c) sums[t] += row[c];
        }
        const Input<float> y_scale(random, Pattern::kRandom, s.batch, random.below(5));
        const Input<float> before(random, Pattern::kRandom, s.batch * y_stride);
        Output<float> y(before.data(), before.size(), random.below(4));
        const auto run = [&](MatmulT2I8 kernel, float* out) {
          kernel(w.data(), q.data(), sums.data(), y_scale.data(), q_stride, s.batch, s.cols, s.row_begin,
                 s.row_end, out, y_stride);
        };
        run(scalar.matmul_t2_i8, y.reference());
        run(tested.matmul_t2_i8, y.tested());
        y.compare(tally, "y");
        if (tally.done()) return;
      }
    }
  }
}

}  // namespace spiked::kernels::testing
