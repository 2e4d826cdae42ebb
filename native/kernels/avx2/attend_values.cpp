#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// As in attend_scores: here these are the next head's keys.
constexpr size_t kAheadBytes = 4096;
constexpr size_t kLineBytes = 64;

/// Eight elements, f32 or f16, as f32.
__m256 eight(const float* at) { return _mm256_loadu_ps(at); }
__m256 eight(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
float one(float element) { return element; }
float one(uint16_t element) { return _cvtsh_ss(element); }

/// n_vectors * 8 outputs in registers while every key goes by.
template <size_t n_vectors, typename T>
void weigh(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys, float* y) {
  constexpr size_t kLineVectors = kLineBytes / sizeof(T) / 8;
  __m256 sums[n_vectors];
  for (__m256& s : sums) s = _mm256_setzero_ps();
  for (size_t i = 0; i < n_keys; ++i) {
    const __m256 weight = _mm256_set1_ps(p[i]);
    const T* value = v + slots[i] * v_stride;
#pragma GCC unroll 8
    for (size_t k = 0; k < n_vectors; ++k) {
      if (n_vectors > 1 && k % kLineVectors == 0)
        __builtin_prefetch(value + 8 * k + kAheadBytes / sizeof(T), 0, 2);
      sums[k] = _mm256_fmadd_ps(weight, eight(value + 8 * k), sums[k]);
    }
  }
  for (size_t k = 0; k < n_vectors; ++k) _mm256_storeu_ps(y + 8 * k, sums[k]);
}

template <typename T>
void attend(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float* y) {
  size_t j = 0;
  for (; j + 64 <= head_dim; j += 64) weigh<8>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 32 <= head_dim; j += 32) weigh<4>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 8 <= head_dim; j += 8) weigh<1>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j < head_dim; ++j) {
    float sum = 0.0f;
    for (size_t i = 0; i < n_keys; ++i) sum = __builtin_fmaf(p[i], one(v[slots[i] * v_stride + j]), sum);
    y[j] = sum;
  }
}

}  // namespace

void attend_values(const float* p, const float* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float* y) {
  attend(p, v, v_stride, slots, n_keys, head_dim, y);
}

void attend_values_f16(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
  attend(p, v, v_stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::kernels::avx2
