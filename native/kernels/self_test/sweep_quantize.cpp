#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

constexpr size_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 29, 32, 53, 1536};

/// Halves of the last place, so that many quotients lie between two codes.
void fill_ties(Random& random, float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(random.below(509)) * 0.5f - 127.0f;
  if (n != 0) x[n - 1] = 127.0f;
}

}  // namespace

void sweep_quantize_i8(QuantizeI8 scalar, QuantizeI8 tested, Tally& tally) {
  Random random(tally.seed());
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns) {
      for (bool ties : {false, true}) {
        tally.begin_case(format("%zu values, %s", n, ties ? "ties" : name(pattern)));
        Input<float> x(random, pattern, n, random.below(5));
        if (ties) fill_ties(random, x.data(), n);
        const Input<int8_t> before(random, Pattern::kRandom, n);
        Output<int8_t> q(before.data(), n, random.below(5));
        const float expected = scalar(x.data(), n, q.reference());
        const float found = tested(x.data(), n, q.tested());
        if (!same(expected, found)) tally.fail(difference("scale", 0, expected, found));
        q.compare(tally, "q");
        if (tally.done()) return;
      }
    }
  }
}

}  // namespace spiked::kernels::testing
