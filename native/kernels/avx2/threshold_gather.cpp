#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {

size_t threshold_gather(const float* z, size_t n, float threshold, uint32_t* active) {
  const __m256 thresholds = _mm256_set1_ps(threshold);
  const size_t whole = n / 8 * 8;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += 8) {
    const __m256 spikes = _mm256_cmp_ps(_mm256_loadu_ps(z + i), thresholds, _CMP_GE_OQ);
    for (unsigned bits = static_cast<unsigned>(_mm256_movemask_ps(spikes)); bits != 0; bits &= bits - 1) {
      active[n_active++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
    }
  }
  for (size_t i = whole; i < n; ++i) {
    if (z[i] >= threshold) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::avx2
