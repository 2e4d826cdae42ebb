// Our elementary functions against the C library's long double ones.
#include "base/math.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "unit.h"

namespace {

using namespace spiked;

/// Distance of `found` from the true value in units of the last place of the true value, rounded to f32.
double ulps(float found, long double truth) {
  const float rounded = static_cast<float>(truth);
  if (std::isnan(truth) || std::isnan(found)) return std::isnan(truth) && std::isnan(found) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(found)) return rounded == found ? 0 : HUGE_VAL;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int unit = exponent - 24 < -149 ? -149 : exponent - 24;
  return static_cast<double>(std::fabs((static_cast<long double>(found) - truth) / std::ldexp(1.0L, unit)));
}

/// Walks the f32 of [-high, high] in the order of their bits, so that every binade gets as many samples.
template <typename Ours, typename Truth>
void measure(unit::Test& test, float low, float high, Ours ours, Truth truth) {
  // A prime, so that all low bits occur. Emulated long double is slow, and the walk need not be as dense there.
#if defined(__aarch64__)
  constexpr uint32_t kStep = 400009;
#else
  constexpr uint32_t kStep = 9973;
#endif
  double worst = 0;
  float at = 0;
  uint64_t n = 0;
  const auto visit = [&](float x) {
    if (x < low) return;
    ++n;
    const double error = ulps(ours(x), truth(static_cast<long double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  };
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(high); bits += kStep) {
    visit(std::bit_cast<float>(bits));
    visit(-std::bit_cast<float>(bits));
  }
  visit(high);
  visit(-high);
  const std::string figure = format("%.4f ULP at most, over %llu values (at %a)", worst,
                                    static_cast<unsigned long long>(n), static_cast<double>(at));
  test.note(figure);
  test.expect(worst <= 1.0, figure);
}

constexpr float kMax = std::numeric_limits<float>::max();

const unit::Unit exp_unit("math: exp_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, kMax, math::exp_f32, [](long double x) { return std::exp(x); });
});
const unit::Unit log_unit("math: log_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, kMax, math::log_f32, [](long double x) { return std::log(x); });
});
const unit::Unit erf_unit("math: erf_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, kMax, math::erf_f32, [](long double x) { return std::erf(x); });
});
const unit::Unit sin_unit("math: sin_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, 0x1p20f, math::sin_f32, [](long double x) { return std::sin(x); });
});
const unit::Unit cos_unit("math: cos_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, 0x1p20f, math::cos_f32, [](long double x) { return std::cos(x); });
});
const unit::Unit sigmoid_unit("math: sigmoid_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, kMax, math::sigmoid_f32, [](long double x) { return 1 / (1 + std::exp(-x)); });
});
const unit::Unit gelu_unit("math: gelu_f32 within 1 ULP", [](unit::Test& t) {
  measure(t, -kMax, kMax, math::gelu_f32,
          [](long double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5L)); });
});

const unit::Unit f64_unit("math: exp_f64 and log_f64 within 1e-14", [](unit::Test& t) {
  double worst = 0;
  const auto visit = [&](double found, long double truth) {
    if (truth != 0) worst = std::fmax(worst, static_cast<double>(std::fabs((found - truth) / truth)));
  };
  for (double x = -700; x < 700; x += 0.0371) visit(math::exp_f64(x), std::exp(static_cast<long double>(x)));
  for (double x = 1e-300; x < 1e300; x *= 1.0137)
    visit(math::log_f64(x), std::log(static_cast<long double>(x)));
  for (double x = 0.9; x < 1.1; x += 1.1e-5) visit(math::log_f64(x), std::log(static_cast<long double>(x)));
  t.note(format("relative error %.2g at most", worst));
  t.expect(worst < 1e-14, format("relative error: expected below 1e-14, found %g", worst));
});

const unit::Unit ends_unit("math: ends of the range and special values", [](unit::Test& t) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  t.expect(math::exp_f32(inf) == inf && math::exp_f32(-inf) == 0 && std::isnan(math::exp_f32(nan)),
           "exp at the ends");
  t.expect(math::exp_f32(0.0f) == 1 && math::exp_f32(89.0f) == inf && math::exp_f32(-104.0f) == 0,
           "exp near the ends");
  t.expect(math::exp_f32(-103.0f) > 0, "exp in the denormals");
  t.expect(math::log_f32(0.0f) == -inf && math::log_f32(inf) == inf, "log at the ends");
  t.expect(std::isnan(math::log_f32(-1.0f)) && std::isnan(math::log_f32(nan)), "log outside its domain");
  t.expect(math::log_f32(1.0f) == 0, "log of one");
  t.expect(math::erf_f32(inf) == 1 && math::erf_f32(-inf) == -1 && std::isnan(math::erf_f32(nan)),
           "erf at the ends");
  t.expect(std::signbit(math::erf_f32(-0.0f)) && std::signbit(math::sin_f32(-0.0f)),
           "odd functions keep the sign of zero");
  t.expect(math::cos_f32(0.0f) == 1, "cos of zero");
  t.expect(std::isnan(math::sin_f32(inf)) && std::isnan(math::cos_f32(nan)),
           "sin and cos outside their domain");
  t.expect(std::isnan(math::sin_f32(0x1.000002p20f)), "sin beyond 2^20 is NaN, not a wrong number");
  t.expect(math::sigmoid_f32(-inf) == 0 && math::sigmoid_f32(inf) == 1 && math::sigmoid_f32(0.0f) == 0.5f,
           "sigmoid");
  t.expect(math::gelu_f32(inf) == inf && math::gelu_f32(0.0f) == 0 && std::isnan(math::gelu_f32(nan)),
           "gelu");
});

}  // namespace
