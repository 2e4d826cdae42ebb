#include <bit>
#include <limits>

#include "kernels/self_test/buffers.h"
#include "kernels/self_test/faults.h"

namespace spiked::kernels::testing {
namespace {

void expect(Tally& tally, const char* what, bool holds) {
  tally.begin_case("comparison helper");
  if (!holds) tally.fail(what);
}

/// Whether a comparison sees what `harm` does to the tested copy.
template <typename Harm>
bool caught(Harm harm) {
  const float values[3] = {1.0f, -0.0f, 0x1p-149f};
  Output<float> y(values, 3, 1);
  harm(y.tested());
  Tally tally(0, false);
  tally.begin_case("");
  y.compare(tally, "y");
  return tally.failures() == 1;
}

}  // namespace

void check_helpers(Tally& tally) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect(tally, "equal arrays must pass", !caught([](float*) {}));
  expect(tally, "one bit must be seen", caught([](float* y) { y[0] = 0x1.000002p0f; }));
  expect(tally, "+0 for -0 must be seen", caught([](float* y) { y[1] = 0.0f; }));
  expect(tally, "a flushed denormal must be seen", caught([](float* y) { y[2] = 0.0f; }));
  expect(tally, "NaN for a number must be seen", caught([nan](float* y) { y[2] = nan; }));
  expect(tally, "two NaN must be equal", same(nan, std::bit_cast<float>(0xffc00001u)));
  expect(tally, "a write past the end must be seen", caught([](float* y) { y[3] = 1.0f; }));
  expect(tally, "a write before the start must be seen", caught([](float* y) { y[-1] = 1.0f; }));
  expect(tally, "a write of one byte must be seen",
         caught([](float* y) { reinterpret_cast<unsigned char*>(y + 3)[0] = 0; }));
  expect(tally, "indices must be compared",
         !same(uint32_t{1}, uint32_t{2}) && same(uint32_t{7}, uint32_t{7}));
}

}  // namespace spiked::kernels::testing
