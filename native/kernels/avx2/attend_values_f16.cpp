#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// As in attend_scores_f16: here these are the next head's keys.
constexpr size_t kAheadHalves = 2048;
constexpr size_t kLineVectors = 4;

/// n_vectors * 8 outputs in registers while every key goes by.
template <size_t n_vectors>
void weigh(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
           float* y) {
  __m256 sums[n_vectors];
  for (__m256& s : sums) s = _mm256_setzero_ps();
  for (size_t i = 0; i < n_keys; ++i) {
    const __m256 weight = _mm256_set1_ps(p[i]);
    const uint16_t* value = v + slots[i] * v_stride;
#pragma GCC unroll 8
    for (size_t k = 0; k < n_vectors; ++k) {
      if (n_vectors > 1 && k % kLineVectors == 0) __builtin_prefetch(value + 8 * k + kAheadHalves, 0, 2);
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(value + 8 * k));
      sums[k] = _mm256_fmadd_ps(weight, _mm256_cvtph_ps(half), sums[k]);
    }
  }
  for (size_t k = 0; k < n_vectors; ++k) _mm256_storeu_ps(y + 8 * k, sums[k]);
}

}  // namespace

void attend_values_f16(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
  size_t j = 0;
  for (; j + 64 <= head_dim; j += 64) weigh<8>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 32 <= head_dim; j += 32) weigh<4>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 8 <= head_dim; j += 8) weigh<1>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j < head_dim; ++j) {
    float sum = 0.0f;
    for (size_t i = 0; i < n_keys; ++i)
      sum = __builtin_fmaf(p[i], _cvtsh_ss(v[slots[i] * v_stride + j]), sum);
    y[j] = sum;
  }
}

}  // namespace spiked::kernels::avx2
