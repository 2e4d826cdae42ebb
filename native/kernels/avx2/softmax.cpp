#include <immintrin.h>

#include "kernels/constants.h"
#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

namespace exp = constants::exp;
/// Below where the result is 0, and near enough for 2^k to stay in range.
constexpr double kLeast = -746.0;

/// 2^k for k in [-1022, 1023].
__m256d power_of_two(__m128i k) {
  const __m256i biased = _mm256_add_epi64(_mm256_cvtepi32_epi64(k), _mm256_set1_epi64x(1023));
  return _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52));
}

/// math::exp_f64 of four values that are at most 0 or NaN, operation by operation.
__m256d exp4(__m256d x) {
  const __m256d clamped = _mm256_max_pd(_mm256_set1_pd(kLeast), x);  // the second operand where one is NaN
  const __m256d scaled = _mm256_mul_pd(clamped, _mm256_set1_pd(exp::kLog2E));
  const __m256d half = _mm256_set1_pd(0.5), zero = _mm256_setzero_pd();
  const __m256d shifted = _mm256_blendv_pd(_mm256_add_pd(scaled, half), _mm256_sub_pd(scaled, half),
                                           _mm256_cmp_pd(scaled, zero, _CMP_LT_OQ));
  const __m128i k = _mm256_cvttpd_epi32(shifted);
  const __m256d n = _mm256_cvtepi32_pd(k);
  const __m256d r = _mm256_sub_pd(_mm256_sub_pd(clamped, _mm256_mul_pd(n, _mm256_set1_pd(exp::kLn2Hi))),
                                  _mm256_mul_pd(n, _mm256_set1_pd(exp::kLn2Lo)));
  __m256d y = _mm256_set1_pd(exp::kSeries[exp::kTerms - 1]);
#pragma GCC unroll 13
  for (int i = exp::kTerms - 2; i >= 0; --i)
    y = _mm256_add_pd(_mm256_mul_pd(y, r), _mm256_set1_pd(exp::kSeries[i]));
  // k / 2 towards zero.
  const __m128i first = _mm_srai_epi32(_mm_sub_epi32(k, _mm_srai_epi32(k, 31)), 1);
  const __m256d value =
      _mm256_mul_pd(_mm256_mul_pd(y, power_of_two(first)), power_of_two(_mm_sub_epi32(k, first)));
  return _mm256_andnot_pd(_mm256_cmp_pd(x, _mm256_set1_pd(exp::kZeroBelow), _CMP_LT_OQ), value);
}

/// exp(scores - max) of four scores.
__m128 exp_below(__m128 scores, __m128 max) {
  return _mm256_cvtpd_ps(exp4(_mm256_cvtps_pd(_mm_sub_ps(scores, max))));
}

float maximum(const float* scores, size_t n) {
  const size_t whole = n / 8 * 8;
  // Every lane starts at the first score, so that NaN counts where scalar's does: there only.
  __m256 lanes = _mm256_set1_ps(scores[0]);
  for (size_t i = 0; i < whole; i += 8) {
    const __m256 s = _mm256_loadu_ps(scores + i);
    lanes = _mm256_blendv_ps(lanes, s, _mm256_cmp_ps(s, lanes, _CMP_GT_OQ));
  }
  float found[8];
  _mm256_storeu_ps(found, lanes);
  float max = found[0];
  for (float f : found) max = f > max ? f : max;
  for (size_t i = whole; i < n; ++i) max = scores[i] > max ? scores[i] : max;
  return max;
}

}  // namespace

void softmax(float* scores, size_t n) {
  const __m128 max = _mm_set1_ps(maximum(scores, n));
  const size_t whole = n / 4 * 4;
  float sum = 0.0f;
  for (size_t i = 0; i < whole; i += 4) {
    _mm_storeu_ps(scores + i, exp_below(_mm_loadu_ps(scores + i), max));
    for (size_t k = i; k < i + 4; ++k) sum = sum + scores[k];
  }
  if (whole < n) {
    float last[4] = {};
    for (size_t i = whole; i < n; ++i) last[i - whole] = scores[i];
    _mm_storeu_ps(last, exp_below(_mm_loadu_ps(last), max));
    for (size_t i = whole; i < n; ++i) {
      scores[i] = last[i - whole];
      sum = sum + scores[i];
    }
  }
  for (size_t i = 0; i < n; ++i) scores[i] = scores[i] / sum;
}

}  // namespace spiked::kernels::avx2
