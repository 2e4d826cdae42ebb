#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

float largest_size(const float* x, size_t n) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const size_t whole = n / 8 * 8;
  __m256 max = _mm256_setzero_ps();
  for (size_t i = 0; i < whole; i += 8) {
    // max_ps(a, b) is a > b ? a : b, which leaves a NaN in a out.
    max = _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(x + i)), max);
  }
  float lanes[8];
  _mm256_storeu_ps(lanes, max);
  float largest = 0.0f;
  for (float v : lanes) largest = v > largest ? v : largest;
  for (size_t i = whole; i < n; ++i) {
    const float size = __builtin_fabsf(x[i]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

/// Eight quotients, rounded half to even and clipped, as int32.
__m256i quantize(__m256 x, __m256 scale) {
  __m256 v = _mm256_div_ps(x, scale);
  v = _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
  v = _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(-32639.0f)), _mm256_set1_ps(32639.0f));
  return _mm256_cvtps_epi32(v);
}

}  // namespace

float quantize_i16(const float* x, size_t n, int16_t* q) {
  float scale = largest_size(x, n) / 32639.0f;
  scale = scale > 0.0f ? scale : 1.0f;
  const __m256 scales = _mm256_set1_ps(scale);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i low = quantize(_mm256_loadu_ps(x + i), scales);
    const __m256i high = quantize(_mm256_loadu_ps(x + i + 8), scales);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + i), words);
  }
  for (; i < n; ++i) {
    const __m256i one = quantize(_mm256_set1_ps(x[i]), scales);
    q[i] = static_cast<int16_t>(_mm_cvtsi128_si32(_mm256_castsi256_si128(one)));
  }
  return scale;
}

}  // namespace spiked::kernels::avx2
