#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

struct Shape {
  size_t rows, cols, batch, row_begin, row_end;
};

// Around the register (8 columns), the tiles of rows (4) and tokens (2, 3), and the rows that all tokens walk before the next ones
// (at 2,560 columns, a model's width, 24).
constexpr Shape kShapes[] = {
    {1, 8, 1, 0, 1},     {3, 8, 2, 0, 3},    {4, 16, 3, 0, 4},     {5, 24, 4, 0, 5},
    {9, 64, 5, 1, 9},    {8, 72, 6, 3, 8},   {4, 136, 7, 1, 1},    {7, 512, 1, 2, 7},
    {53, 640, 1, 0, 53}, {5, 2560, 1, 0, 5}, {30, 2560, 5, 1, 30},
};

}  // namespace

void sweep_matmul_f16_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (Pattern pattern : kPatterns) {
      const size_t x_stride = s.cols + 8 * random.below(3), y_stride = s.rows + random.below(5);
      tally.begin_case(format("rows [%zu, %zu), %zu columns, batch %zu, %s", s.row_begin, s.row_end, s.cols,
                              s.batch, name(pattern)));
      // Extreme weights and activations in turn, so that one does not hide the other.
      const bool both = random.below(2) == 0;
      Input<uint16_t> w(s.rows * s.cols, random.below(32));
      fill_f16(random, pattern, w.data(), w.size());
      const Input<float> x(random, both ? pattern : Pattern::kRandom, (s.batch - 1) * x_stride + s.cols);
      const Input<float> before(random, Pattern::kRandom, s.batch * y_stride);
      Output<float> y(before.data(), before.size(), random.below(4));
      const auto run = [&](MatmulF16F32 kernel, float* out) {
        kernel(w.data(), x.data(), x_stride, s.batch, s.cols, s.row_begin, s.row_end, out, y_stride);
      };
      run(scalar.matmul_f16_f32, y.reference());
      run(tested.matmul_f16_f32, y.tested());
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace spiked::kernels::testing
