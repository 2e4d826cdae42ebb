#include <arm_neon.h>

#include "kernels/constants.h"
#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

namespace exp = constants::exp;
/// Below where the result is 0, and near enough for 2^k to stay in range.
constexpr double kLeast = -746.0;

/// 2^k for k in [-1022, 1023].
float64x2_t power_of_two(int64x2_t k) {
  return vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(k, vdupq_n_s64(1023)), 52));
}

/// math::exp_f64 of two values that are at most 0 or NaN, operation by operation.
float64x2_t exp2(float64x2_t x) {
  const float64x2_t least = vdupq_n_f64(kLeast), half = vdupq_n_f64(0.5);
  const float64x2_t clamped = vbslq_f64(vcltq_f64(x, least), least, x);
  const float64x2_t scaled = vmulq_f64(clamped, vdupq_n_f64(exp::kLog2E));
  const float64x2_t shifted = vbslq_f64(vcltzq_f64(scaled), vsubq_f64(scaled, half), vaddq_f64(scaled, half));
  const int64x2_t k = vcvtq_s64_f64(shifted);
  const float64x2_t n = vcvtq_f64_s64(k);
  const float64x2_t r = vsubq_f64(vsubq_f64(clamped, vmulq_f64(n, vdupq_n_f64(exp::kLn2Hi))),
                                  vmulq_f64(n, vdupq_n_f64(exp::kLn2Lo)));
  float64x2_t y = vdupq_n_f64(exp::kSeries[exp::kTerms - 1]);
#pragma GCC unroll 13
  for (int i = exp::kTerms - 2; i >= 0; --i) y = vaddq_f64(vmulq_f64(y, r), vdupq_n_f64(exp::kSeries[i]));
  // k / 2 towards zero.
  const int64x2_t first = vshrq_n_s64(vsubq_s64(k, vshrq_n_s64(k, 63)), 1);
  const float64x2_t value = vmulq_f64(vmulq_f64(y, power_of_two(first)), power_of_two(vsubq_s64(k, first)));
  const uint64x2_t zero = vcltq_f64(x, vdupq_n_f64(exp::kZeroBelow));
  return vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(value), zero));
}

/// exp(scores - max) of four scores.
float32x4_t exp_below(float32x4_t scores, float32x4_t max) {
  const float32x4_t x = vsubq_f32(scores, max);
  const float32x2_t low = vcvt_f32_f64(exp2(vcvt_f64_f32(vget_low_f32(x))));
  return vcvt_high_f32_f64(low, exp2(vcvt_high_f64_f32(x)));
}

float maximum(const float* scores, size_t n) {
  const size_t whole = n / 4 * 4;
  // Every lane starts at the first score, so that NaN counts where scalar's does: there only.
  float32x4_t lanes = vdupq_n_f32(scores[0]);
  for (size_t i = 0; i < whole; i += 4) {
    const float32x4_t s = vld1q_f32(scores + i);
    lanes = vbslq_f32(vcgtq_f32(s, lanes), s, lanes);
  }
  float found[4];
  vst1q_f32(found, lanes);
  float max = found[0];
  for (float f : found) max = f > max ? f : max;
  for (size_t i = whole; i < n; ++i) max = scores[i] > max ? scores[i] : max;
  return max;
}

}  // namespace

void softmax(float* scores, size_t n) {
  const float32x4_t max = vdupq_n_f32(maximum(scores, n));
  const size_t whole = n / 4 * 4;
  float sum = 0.0f;
  for (size_t i = 0; i < whole; i += 4) {
    vst1q_f32(scores + i, exp_below(vld1q_f32(scores + i), max));
    for (size_t k = i; k < i + 4; ++k) sum = sum + scores[k];
  }
  if (whole < n) {
    float last[4] = {};
    for (size_t i = whole; i < n; ++i) last[i - whole] = scores[i];
    vst1q_f32(last, exp_below(vld1q_f32(last), max));
    for (size_t i = whole; i < n; ++i) {
      scores[i] = last[i - whole];
      sum = sum + scores[i];
    }
  }
  for (size_t i = 0; i < n; ++i) scores[i] = scores[i] / sum;
}

}  // namespace spiked::kernels::neon
