#include "base/status.h"
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

template <typename Q, typename Kernel>
void sweep(Kernel scalar, Kernel tested, float largest, Tally& tally) {
  Random random(tally.seed());
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns) {
      for (bool ties : {false, true}) {
        tally.begin_case(format("%zu values, %s", n, ties ? "ties" : name(pattern)));
        Input<float> x(random, pattern, n, random.below(5));
        if (ties) fill_ties(random, largest, x.data(), n);
        const Input<Q> before(random, Pattern::kRandom, n);
        Output<Q> q(before.data(), n, random.below(5));
        const float expected = scalar(x.data(), n, q.reference());
        const float found = tested(x.data(), n, q.tested());
        if (!same(expected, found)) tally.fail(difference("scale", 0, expected, found));
        q.compare(tally, "q");
        if (tally.done()) return;
      }
    }
  }
}

}  // namespace

void sweep_quantize_i8(QuantizeI8 scalar, QuantizeI8 tested, Tally& tally) {
  sweep<int8_t>(scalar, tested, 127.0f, tally);
}

void sweep_quantize_i16(QuantizeI16 scalar, QuantizeI16 tested, Tally& tally) {
  sweep<int16_t>(scalar, tested, 32639.0f, tally);
}

}  // namespace spiked::kernels::testing
