#include <limits>

#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

constexpr size_t kSizes[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 29, 63, 64, 65, 1536};
// All fire, some fire, only the clamped ones fire, none can.
constexpr float kThresholds[] = {-3.0f, 0.0f, 1.0f, 3.0f, 3.5f, std::numeric_limits<float>::quiet_NaN()};

template <typename Run>
void sweep(Tally& tally, Run run) {
  Random random(tally.seed());
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns) {
      for (float threshold : kThresholds) {
        tally.begin_case(
            format("%zu values, threshold %g, %s", n, static_cast<double>(threshold), name(pattern)));
        Input<uint32_t> before(n);
        for (size_t i = 0; i < n; ++i) before[i] = 0xffffffffu;
        Output<uint32_t> active(before.data(), n, random.below(5));
        run(random, pattern, n, threshold, active);
        if (tally.done()) return;
      }
    }
  }
}

void compare_counts(Tally& tally, size_t expected, size_t found) {
  if (expected != found) tally.fail(format("number of spikes: expected %zu, found %zu", expected, found));
}

}  // namespace

void sweep_membrane_step(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](Random& random, Pattern pattern, size_t n, float threshold, Output<uint32_t>& active) {
    const Input<float> x(random, pattern, n, random.below(5));
    const Input<float> before(random, random.below(2) == 0 ? pattern : Pattern::kRandom, n);
    Output<float> membrane(before.data(), n, random.below(5));
    const size_t expected =
        scalar.membrane_step(membrane.reference(), x.data(), n, 0.9f, threshold, active.reference());
    const size_t found =
        tested.membrane_step(membrane.tested(), x.data(), n, 0.9f, threshold, active.tested());
    compare_counts(tally, expected, found);
    membrane.compare(tally, "membrane");
    active.compare(tally, "active", expected);
  });
}

void sweep_threshold_gather(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](Random& random, Pattern pattern, size_t n, float threshold, Output<uint32_t>& active) {
    const Input<float> z(random, pattern, n, random.below(5));
    const size_t expected = scalar.threshold_gather(z.data(), n, threshold, active.reference());
    const size_t found = tested.threshold_gather(z.data(), n, threshold, active.tested());
    compare_counts(tally, expected, found);
    active.compare(tally, "active", expected);
  });
}

}  // namespace spiked::kernels::testing
