#include <type_traits>

#include "base/status.h"
#include "kernels/layout.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

constexpr size_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 29, 32, 53, 1536};

/// Halves of the last place, so that many quotients lie between two codes.
void fill_ties(Random& random, float largest, float* x, size_t n) {
  const size_t halves = static_cast<size_t>(4 * largest) + 1;
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(random.below(halves)) * 0.5f - largest;
  if (n != 0) x[n - 1] = largest;
}

/// order: of what `tested` writes.
template <typename Q, typename Kernel>
void sweep(Kernel scalar, Kernel tested, layout::I16Order order, float largest, Tally& tally) {
  Random random(tally.seed());
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns) {
      for (bool ties : {false, true}) {
        tally.begin_case(format("%zu values, %s", n, ties ? "ties" : name(pattern)));
        Input<float> x(random, pattern, n, random.below(5));
        if (ties) fill_ties(random, largest, x.data(), n);
        const size_t room = std::is_same_v<Q, int16_t> ? round_up(n, layout::kPlaneColumns) : n;
        Input<Q> before(room);
        fill_quantized(random, Pattern::kRandom, before.data(), room);
        Output<Q> q(before.data(), room, random.below(5));
        arrange(order, q.tested(), room);
        const float expected = scalar(x.data(), n, q.reference());
        const float found = tested(x.data(), n, q.tested());
        straighten(order, q.tested(), room);
        if (!same(expected, found)) tally.fail(difference("scale", 0, expected, found));
        q.compare(tally, "q");
        if (tally.done()) return;
      }
    }
  }
}

}  // namespace

void sweep_quantize_i8(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int8_t>(scalar.quantize_i8, tested.quantize_i8, tested.i16_order, 127.0f, tally);
}

void sweep_quantize_i16(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int16_t>(scalar.quantize_i16, tested.quantize_i16, tested.i16_order, 32639.0f, tally);
}

}  // namespace spiked::kernels::testing
