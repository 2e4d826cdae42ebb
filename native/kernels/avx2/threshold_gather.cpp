#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Values looked at together: how many of them fired is guessed wrong once for all of them.
constexpr size_t kValues = 64;

uint64_t fired(const float* z, __m256 thresholds) {
  const __m256 spikes = _mm256_cmp_ps(_mm256_loadu_ps(z), thresholds, _CMP_GE_OQ);
  return static_cast<uint64_t>(_mm256_movemask_ps(spikes));
}

}  // namespace

size_t threshold_gather(const float* z, size_t n, float threshold, uint32_t* active) {
  const __m256 thresholds = _mm256_set1_ps(threshold);
  const size_t whole = n / kValues * kValues;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += kValues) {
    uint64_t bits = 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < kValues; k += 8) bits |= fired(z + i + k, thresholds) << k;
    for (; bits != 0; bits &= bits - 1)
      active[n_active++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctzll(bits));
  }
  for (size_t i = whole; i < n; ++i) {
    if (z[i] >= threshold) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::avx2
