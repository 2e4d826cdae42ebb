#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

constexpr float kFloor = 1e-5f;
constexpr int32_t kMagnitude = 0x7fffffff;

/// By the bits without the sign: NaN is larger than infinity, and infinity larger than any number.
float largest(const float* x, size_t n) {
  const __m256i magnitude = _mm256_set1_epi32(kMagnitude);
  __m256i max = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    max = _mm256_max_epi32(max, _mm256_and_si256(bits, magnitude));
  }
  int32_t lanes[8], most = 0;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), max);
  for (int32_t bits : lanes) most = bits > most ? bits : most;
  for (; i < n; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= kMagnitude;
    most = bits > most ? bits : most;
  }
  float out;
  __builtin_memcpy(&out, &most, sizeof out);
  return out;
}

/// Eight codes, rounded half to even; the multiplier keeps them within +-127.
__m256i quantize(const float* x, __m256 multiplier) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), multiplier));
}

int32_t sum_lanes(__m256i v) {
  int32_t lanes[8], sum = 0;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), v);
  for (int32_t lane : lanes) sum += lane;
  return sum;
}

}  // namespace

TernaryRow quantize_ternary(const float* x, size_t n, int8_t* q) {
  const float absmax = largest(x, n);
  TernaryRow row{absmax, 127.0f / (absmax > kFloor ? absmax : kFloor), 0};
  if (!(absmax < __builtin_inff())) {
    __builtin_memset(q, 0, n);
    return row;
  }
  const __m256 multipliers = _mm256_set1_ps(row.multiplier);
  __m256i sums = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i low = quantize(x + i, multipliers), high = quantize(x + i + 8, multipliers);
    sums = _mm256_add_epi32(sums, _mm256_add_epi32(low, high));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), _MM_SHUFFLE(3, 1, 2, 0));
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q + i), bytes);
  }
  row.sum = sum_lanes(sums);
  for (; i < n; ++i) {
    const int32_t code = _mm_cvtss_si32(_mm_set_ss(x[i] * row.multiplier));
    q[i] = static_cast<int8_t>(code);
    row.sum += code;
  }
  return row;
}

}  // namespace spiked::kernels::avx2
