#include "base/math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "base/exp_constants.h"

namespace spiked::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using exp_constants::kLn2Hi;
using exp_constants::kLn2Lo;
// pi/2 in parts of 33 bits (the last one whole), so that a 20-bit multiple of a part is exact.
constexpr double kHalfPi1 = 0x1.921fb544p+0, kHalfPi2 = 0x1.0b4611a6p-34, kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
constexpr double kMaxAngle = 0x1p20;

/// c[0] + c[1] x + ... by Horner's rule.
template <int n>
double polynomial(const double (&c)[n], double x) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; --i) y = y * x + c[i];
  return y;
}

/// 2^k for k in [-1022, 1023].
double power_of_two(int64_t k) { return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52); }

int64_t nearest(double x) { return static_cast<int64_t>(x < 0 ? x - 0.5 : x + 0.5); }

/// erf(x) / x as a polynomial in x^2 for |x| <= 1; our Chebyshev interpolation, relative error 2e-17.
constexpr double kErfSmall[] = {1.1283791670955126,      -0.3761263890318375,     0.11283791670954879,
                                -0.026866170645076792,   0.0052239776248180145,   -0.000854832698083379,
                                0.0001205533111164271,   -1.4925595266831182e-05, 1.6461000484121368e-06,
                                -1.6350312701054695e-07, 1.4659775274047436e-08,  -1.1372848856791674e-09,
                                5.957176147748911e-11};

/// exp(x^2) erfc(x) as a polynomial in 2 / (2 + x) for x in [1, 11]; likewise, relative error 2e-15.
constexpr double kErfcScaled[] = {-2.8989948814603166e-09, 0.28209494936391144, 0.2820908244264142,
                                  0.2468943667114446,      0.17565440064368623, 0.08884588205513273,
                                  -0.03440789390451058,    0.07925757900532425, -0.5331210768172745,
                                  1.3136210473602807,      -2.7452859546691966, 4.544181635701324,
                                  -5.266204008103322,      4.100172900421439,   -2.0653751551209605,
                                  0.6140162207579734,      -0.08243669855727641};

double erf_small(double x) { return x * polynomial(kErfSmall, x * x); }

/// For x >= 1; beyond 11 the value is below every f32.
double erfc_large(double x) {
  if (x > 11) return 0;
  return exp_f64(-(x * x)) * polynomial(kErfcScaled, 2 / (2 + x));
}

/// The angle less the nearest multiple of pi/2, and that multiple's quadrant.
struct Reduced {
  double r;
  int64_t quadrant;
};

Reduced reduce(double x) {
  const int64_t k = nearest(x * 0x1.45f306dc9c883p-1);
  const double n = static_cast<double>(k);
  return {((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3, k & 3};
}

// Taylor series; on |r| <= pi/4 the first term left out is below 1e-19.
double sin_reduced(double r) {
  constexpr double c[] = {1.0,
                          -1.0 / 6,
                          1.0 / 120,
                          -1.0 / 5040,
                          1.0 / 362880,
                          -1.0 / 39916800,
                          1.0 / 6227020800.0,
                          -1.0 / 1307674368000.0,
                          1.0 / 355687428096000.0};
  return r * polynomial(c, r * r);
}

double cos_reduced(double r) {
  constexpr double c[] = {1.0,
                          -1.0 / 2,
                          1.0 / 24,
                          -1.0 / 720,
                          1.0 / 40320,
                          -1.0 / 3628800,
                          1.0 / 479001600.0,
                          -1.0 / 87178291200.0,
                          1.0 / 20922789888000.0,
                          -1.0 / 6402373705728000.0};
  return polynomial(c, r * r);
}

float turn(double x, int64_t quarter_turns) {
  if (!(x >= -kMaxAngle && x <= kMaxAngle)) return std::numeric_limits<float>::quiet_NaN();
  const Reduced a = reduce(x);
  switch ((a.quadrant + quarter_turns) & 3) {
    case 0:
      return static_cast<float>(sin_reduced(a.r));
    case 1:
      return static_cast<float>(cos_reduced(a.r));
    case 2:
      return static_cast<float>(-sin_reduced(a.r));
    default:
      return static_cast<float>(-cos_reduced(a.r));
  }
}

}  // namespace

double exp_f64(double x) {
  // Written so that NaN falls through to the series and stays NaN.
  if (x > 709.79) return kInf;
  if (x < exp_constants::kZeroBelow) return 0;
  if (x != x) return x;
  const int64_t k = nearest(x * exp_constants::kLog2E);
  const double n = static_cast<double>(k);
  const double r = (x - n * kLn2Hi) - n * kLn2Lo;
  // Two factors: 2^k alone over- or underflows at the ends of the range.
  const int64_t half = k / 2;
  return polynomial(exp_constants::kSeries, r) * power_of_two(half) * power_of_two(k - half);
}

double log_f64(double x) {
  if (x != x || x < 0) return kNaN;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  int64_t k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  k += static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 2 * kSqrtHalf) {
    m *= 0.5;
    ++k;
  }
  // log(1 + f) = 2 atanh(s); |s| < 0.172, and the first term left out is below 1e-19.
  constexpr double c[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                          1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const double f = m - 1;
  const double s = f / (2 + f);
  const double n = static_cast<double>(k);
  return n * kLn2Hi + (2 * s * polynomial(c, s * s) + n * kLn2Lo);
}

float exp_f32(float x) { return static_cast<float>(exp_f64(static_cast<double>(x))); }

float log_f32(float x) { return static_cast<float>(log_f64(static_cast<double>(x))); }

float erf_f32(float x) {
  const double v = static_cast<double>(x);
  if (v > 1) return static_cast<float>(1 - erfc_large(v));
  if (v < -1) return static_cast<float>(erfc_large(-v) - 1);
  return static_cast<float>(erf_small(v));
}

float sin_f32(float x) { return turn(static_cast<double>(x), 0); }

float cos_f32(float x) { return turn(static_cast<double>(x), 1); }

float sigmoid_f32(float x) { return static_cast<float>(1 / (1 + exp_f64(-static_cast<double>(x)))); }

float gelu_f32(float x) {
  const double v = static_cast<double>(x);
  const double z = v * kSqrtHalf;
  // 1 + erf loses every digit for negative arguments, so there it is taken as erfc(-z).
  double twice_phi;
  if (z > 1) {
    twice_phi = 2 - erfc_large(z);
  } else if (z < -1) {
    twice_phi = erfc_large(-z);
  } else {
    twice_phi = 1 + erf_small(z);
  }
  return static_cast<float>(v / 2 * twice_phi);
}

}  // namespace spiked::math
