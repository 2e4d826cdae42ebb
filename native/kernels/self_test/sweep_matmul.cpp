#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

struct Shape {
  size_t panels, cols, batch, panel_begin, panel_end;
};

// Around the column block (32), the token tiles (2, 3), the token block (12 and, at 1536 columns, 42) and the width from
// which two panels are walked at once (4096); 1536 is a model's real width.
constexpr Shape kShapes[] = {
    {1, 32, 1, 0, 1},   {2, 32, 2, 0, 2},   {3, 64, 3, 1, 3},   {5, 96, 4, 0, 5},   {5, 160, 5, 2, 5},
    {2, 64, 7, 0, 1},   {4, 32, 13, 0, 4},  {4, 288, 1, 1, 4},  {3, 1536, 1, 0, 3}, {1, 1536, 44, 0, 1},
    {7, 4096, 1, 2, 5}, {5, 4128, 1, 1, 4}, {4, 4128, 1, 0, 4}, {2, 4128, 3, 0, 2}, {3, 32, 2, 1, 1},
};

/// Fills all but the last columns, which stay zero as padding does.
Input<float> activations(Random& random, Pattern pattern, const Shape& s, size_t x_stride, size_t pad) {
  Input<float> x(s.batch * x_stride);
  for (size_t t = 0; t < s.batch; ++t) {
    fill(random, pattern, x.data() + t * x_stride, s.cols - pad);
    for (size_t c = s.cols - pad; c < x_stride; ++c) x[t * x_stride + c] = 0.0f;
  }
  return x;
}

/// run(kernel, w, scale, x, x_stride, shape, y, y_stride)
template <typename W, typename Kernel, typename Run>
void sweep(Kernel scalar, Kernel tested, Tally& tally, Run run) {
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (Pattern pattern : kPatterns) {
      const size_t pad = random.below(32), offset = random.below(4);
      const size_t x_stride = s.cols + 16 * random.below(3);
      const size_t rows = s.panels * layout::kPanelRows, y_stride = rows + random.below(5);
      tally.begin_case(format("%zu panels [%zu, %zu), %zu columns, batch %zu, %s", s.panels, s.panel_begin,
                              s.panel_end, s.cols, s.batch, name(pattern)));
      // Extreme weights and activations in turn, so that one does not hide the other.
      const Pattern weights = s.batch % 2 == 1 ? pattern : Pattern::kRandom;
      const Input<W> w(random, weights, rows * s.cols);
      const Input<float> scale(random, Pattern::kRandom, rows);
      const Input<float> x = activations(random, pattern, s, x_stride, pad);
      const Input<float> before(random, Pattern::kRandom, s.batch * y_stride);
      Output<float> y(before.data(), before.size(), offset);
      run(scalar, w.data(), scale.data(), x.data(), x_stride, s, y.reference(), y_stride);
      run(tested, w.data(), scale.data(), x.data(), x_stride, s, y.tested(), y_stride);
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace

void sweep_matmul_f32_f32(MatmulF32F32 scalar, MatmulF32F32 tested, Tally& tally) {
  sweep<float>(scalar, tested, tally,
               [](MatmulF32F32 kernel, const float* w, const float*, const float* x, size_t x_stride,
                  const Shape& s, float* y, size_t y_stride) {
                 kernel(w, x, x_stride, s.batch, s.cols, s.panel_begin, s.panel_end, y, y_stride);
               });
}

void sweep_matmul_i8_f32(MatmulI8F32 scalar, MatmulI8F32 tested, Tally& tally) {
  sweep<int8_t>(scalar, tested, tally,
                [](MatmulI8F32 kernel, const int8_t* w, const float* scale, const float* x, size_t x_stride,
                   const Shape& s, float* y, size_t y_stride) {
                  kernel(w, scale, x, x_stride, s.batch, s.cols, s.panel_begin, s.panel_end, y, y_stride);
                });
}

void sweep_matmul_i8_i8(MatmulI8I8 scalar, MatmulI8I8 tested, Tally& tally) {
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (Pattern pattern : kPatterns) {
      const size_t q_stride = s.cols + 32 * random.below(3);
      const size_t rows = s.panels * layout::kPanelRows, y_stride = rows + random.below(5);
      tally.begin_case(format("%zu panels [%zu, %zu), %zu columns, batch %zu, %s", s.panels, s.panel_begin,
                              s.panel_end, s.cols, s.batch, name(pattern)));
      const Input<int8_t> w(random, random.below(2) == 0 ? pattern : Pattern::kHighest, rows * s.cols);
      Input<int8_t> q(random, pattern, s.batch * q_stride);
      for (size_t i = 0; i < q.size(); ++i) q[i] = q[i] == -128 ? int8_t{-127} : q[i];
      const Input<float> scale(random, Pattern::kRandom, rows), q_scale(random, pattern, s.batch);
      const Input<float> before(random, Pattern::kRandom, s.batch * y_stride);
      Output<float> y(before.data(), before.size(), random.below(4));
      scalar(w.data(), scale.data(), q.data(), q_scale.data(), q_stride, s.batch, s.cols, s.panel_begin,
             s.panel_end, y.reference(), y_stride);
      tested(w.data(), scale.data(), q.data(), q_scale.data(), q_stride, s.batch, s.cols, s.panel_begin,
             s.panel_end, y.tested(), y_stride);
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace spiked::kernels::testing
