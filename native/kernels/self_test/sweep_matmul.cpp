#include <type_traits>

#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/shapes.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

/// Fills all but the last columns, which stay zero as padding does.
Input<float> activations(Random& random, Pattern pattern, const ProductShape& s, size_t x_stride,
                         size_t pad) {
  Input<float> x(s.batch * x_stride);
  for (size_t t = 0; t < s.batch; ++t) {
    fill(random, pattern, x.data() + t * x_stride, s.cols - pad);
    for (size_t c = s.cols - pad; c < x_stride; ++c) x[t * x_stride + c] = 0.0f;
  }
  return x;
}

template <typename W>
Input<W> weights_of(Random& random, Pattern pattern, const ProductShape& s) {
  if constexpr (std::is_same_v<W, uint8_t>) {
    Input<W> w(s.panels * layout::i4_panel_bytes(s.cols));
    fill_i4_panels(random, pattern, w.data(), s.panels, s.cols);
    return w;
  } else {
    return Input<W>(random, pattern, s.panels * layout::kPanelRows * s.cols);
  }
}

/// run(kernel, w, scale, x, x_stride, shape, y, y_stride)
template <typename W, typename Kernel, typename Run>
void sweep(Kernel scalar, Kernel tested, Tally& tally, Run run) {
  Random random(tally.seed());
  for (const ProductShape& s : kProductShapes) {
    for (Pattern pattern : kPatterns) {
      const size_t pad = random.below(32), offset = random.below(4);
      const size_t x_stride = s.cols + 16 * random.below(3);
      const size_t rows = s.panels * layout::kPanelRows, y_stride = rows + random.below(5);
      tally.begin_case(format("%zu panels [%zu, %zu), %zu columns, batch %zu, %s", s.panels, s.panel_begin,
                              s.panel_end, s.cols, s.batch, name(pattern)));
      // Extreme weights and activations in turn, so that one does not hide the other.
      const Pattern weights = s.batch % 2 == 1 ? pattern : Pattern::kRandom;
      const Input<W> w = weights_of<W>(random, weights, s);
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

void sweep_matmul_f32_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<float>(scalar.matmul_f32_f32, tested.matmul_f32_f32, tally,
               [](MatmulF32F32 kernel, const float* w, const float*, const float* x, size_t x_stride,
                  const ProductShape& s, float* y, size_t y_stride) {
                 kernel(w, x, x_stride, s.batch, s.cols, s.panel_begin, s.panel_end, y, y_stride);
               });
}

void sweep_matmul_i8_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int8_t>(scalar.matmul_i8_f32, tested.matmul_i8_f32, tally,
                [](MatmulI8F32 kernel, const int8_t* w, const float* scale, const float* x, size_t x_stride,
                   const ProductShape& s, float* y, size_t y_stride) {
                  kernel(w, scale, x, x_stride, s.batch, s.cols, s.panel_begin, s.panel_end, y, y_stride);
                });
}

void sweep_matmul_i4_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<uint8_t>(scalar.matmul_i4_f32, tested.matmul_i4_f32, tally,
                 [](MatmulI4F32 kernel, const uint8_t* w, const float*, const float* x, size_t x_stride,
                    const ProductShape& s, float* y, size_t y_stride) {
                   kernel(w, x, x_stride, s.batch, s.cols, s.panel_begin, s.panel_end, y, y_stride);
                 });
}

}  // namespace spiked::kernels::testing
