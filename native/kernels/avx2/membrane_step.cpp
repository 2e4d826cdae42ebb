#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {

size_t membrane_step(float* membrane, const float* x, size_t n, float leak, float threshold,
                     uint32_t* active) {
  const __m256 leaks = _mm256_set1_ps(leak), thresholds = _mm256_set1_ps(threshold);
  const __m256 low = _mm256_set1_ps(-3.0f), high = _mm256_set1_ps(3.0f);
  const size_t whole = n / 8 * 8;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += 8) {
    __m256 u = _mm256_add_ps(_mm256_mul_ps(leaks, _mm256_loadu_ps(membrane + i)), _mm256_loadu_ps(x + i));
    // Ordered compares are false for NaN, which so passes both clamps and does not fire.
    u = _mm256_blendv_ps(u, low, _mm256_cmp_ps(u, low, _CMP_LT_OQ));
    u = _mm256_blendv_ps(u, high, _mm256_cmp_ps(u, high, _CMP_GT_OQ));
    const __m256 spikes = _mm256_cmp_ps(u, thresholds, _CMP_GE_OQ);
    _mm256_storeu_ps(membrane + i, _mm256_andnot_ps(spikes, u));
    for (unsigned bits = static_cast<unsigned>(_mm256_movemask_ps(spikes)); bits != 0; bits &= bits - 1) {
      active[n_active++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
    }
  }
  for (size_t i = whole; i < n; ++i) {
    float u = leak * membrane[i] + x[i];
    u = u < -3.0f ? -3.0f : u;
    u = u > 3.0f ? 3.0f : u;
    const bool spike = u >= threshold;
    membrane[i] = spike ? 0.0f : u;
    if (spike) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::avx2
