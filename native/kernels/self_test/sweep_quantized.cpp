#include <cstring>
#include <type_traits>

#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/shapes.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

/// The products that take quantised activations Q; order: of those that `tested` takes.
template <typename W, typename Q, typename Kernel>
void sweep(Kernel scalar, Kernel tested, layout::I16Order order, Tally& tally) {
  constexpr bool kI4 = std::is_same_v<W, uint8_t>;
  Random random(tally.seed());
  for (const ProductShape& s : kProductShapes) {
    for (Pattern pattern : kPatterns) {
      const size_t q_stride = s.cols + 32 * random.below(3);
      const size_t rows = s.panels * layout::kPanelRows, y_stride = rows + random.below(5);
      tally.begin_case(format("%zu panels [%zu, %zu), %zu columns, batch %zu, %s", s.panels, s.panel_begin,
                              s.panel_end, s.cols, s.batch, name(pattern)));
      const Pattern weights = random.below(2) == 0 ? pattern : Pattern::kHighest;
      Input<W> w(kI4 ? s.panels * layout::i4_panel_bytes(s.cols) : rows * s.cols);
      if constexpr (kI4)
        fill_i4_panels(random, weights, w.data(), s.panels, s.cols);
      else
        fill(random, weights, w.data(), w.size());
      Input<Q> q(s.batch * q_stride);
      fill_quantized(random, pattern, q.data(), q.size());
      Input<Q> arranged(q.size());
      std::memcpy(arranged.data(), q.data(), q.size() * sizeof(Q));
      arrange(order, arranged.data(), arranged.size());
      const Input<float> scale(random, Pattern::kRandom, rows), q_scale(random, pattern, s.batch);
      const Input<float> before(random, Pattern::kRandom, s.batch * y_stride);
      Output<float> y(before.data(), before.size(), random.below(4));
      const auto run = [&](Kernel kernel, const Input<Q>& x, float* out) {
        if constexpr (kI4)
          kernel(w.data(), x.data(), q_scale.data(), q_stride, s.batch, s.cols, s.panel_begin, s.panel_end,
                 out, y_stride);
        else
          kernel(w.data(), scale.data(), x.data(), q_scale.data(), q_stride, s.batch, s.cols, s.panel_begin,
                 s.panel_end, out, y_stride);
      };
      run(scalar, q, y.reference());
      run(tested, arranged, y.tested());
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace

void sweep_matmul_i8_i8(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int8_t, int8_t>(scalar.matmul_i8_i8, tested.matmul_i8_i8, tested.i16_order, tally);
}

void sweep_matmul_i8_i16(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int8_t, int16_t>(scalar.matmul_i8_i16, tested.matmul_i8_i16, tested.i16_order, tally);
}

void sweep_matmul_i4_i8(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<uint8_t, int8_t>(scalar.matmul_i4_i8, tested.matmul_i4_i8, tested.i16_order, tally);
}

void sweep_matmul_i4_i16(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<uint8_t, int16_t>(scalar.matmul_i4_i16, tested.matmul_i4_i16, tested.i16_order, tally);
}

}  // namespace spiked::kernels::testing
