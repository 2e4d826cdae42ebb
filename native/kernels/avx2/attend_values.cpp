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

/// n_vectors * 8 outputs of each head in registers while every key goes by: a value is converted once for all heads.
template <size_t n_heads, size_t n_vectors, typename T>
void weigh(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys, size_t head_dim,
           float* y) {
  constexpr size_t kLineVectors = kLineBytes / sizeof(T) / 8;
  __m256 sums[n_heads][n_vectors];
  for (auto& of_head : sums)
    for (__m256& s : of_head) s = _mm256_setzero_ps();
  for (size_t i = 0; i < n_keys; ++i) {
    const T* value = v + slots[i] * v_stride;
    __m256 eights[n_vectors];
#pragma GCC unroll 8
    for (size_t k = 0; k < n_vectors; ++k) {
      if (n_heads * n_vectors > 1 && k % kLineVectors == 0)
        __builtin_prefetch(value + 8 * k + kAheadBytes / sizeof(T), 0, 2);
      eights[k] = eight(value + 8 * k);
    }
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h) {
      const __m256 weight = _mm256_broadcast_ss(p + h * n_keys + i);
#pragma GCC unroll 8
      for (size_t k = 0; k < n_vectors; ++k) sums[h][k] = _mm256_fmadd_ps(weight, eights[k], sums[h][k]);
    }
  }
  for (size_t h = 0; h < n_heads; ++h)
    for (size_t k = 0; k < n_vectors; ++k) _mm256_storeu_ps(y + h * head_dim + 8 * k, sums[h][k]);
}

template <size_t n_heads, typename T>
void attend_heads(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
                  size_t head_dim, float* y) {
  size_t j = 0;
  const auto run = [&](auto columns, size_t n) {
    for (; j + n <= head_dim; j += n) columns(p, v + j, v_stride, slots, n_keys, head_dim, y + j);
  };
  run(weigh<n_heads, 8 / n_heads, T>, 64 / n_heads);
  run(weigh<n_heads, 4 / n_heads, T>, 32 / n_heads);
  run(weigh<n_heads, 1, T>, 8);
  for (; j < head_dim; ++j)
    for (size_t h = 0; h < n_heads; ++h) {
      float sum = 0.0f;
      for (size_t i = 0; i < n_keys; ++i)
        sum = __builtin_fmaf(p[h * n_keys + i], one(v[slots[i] * v_stride + j]), sum);
      y[h * head_dim + j] = sum;
    }
}

template <typename T>
void attend(const float* p, size_t n_heads, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float* y) {
  const auto run = [&](auto heads, size_t h) {
    heads(p + h * n_keys, v, v_stride, slots, n_keys, head_dim, y + h * head_dim);
  };
  size_t h = 0;
  for (; h + 4 <= n_heads; h += 4) run(attend_heads<4, T>, h);
  for (; h + 2 <= n_heads; h += 2) run(attend_heads<2, T>, h);
  if (h < n_heads) run(attend_heads<1, T>, h);
}

}  // namespace

void attend_values(const float* p, size_t n_heads, const float* v, size_t v_stride, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

void attend_values_f16(const float* p, size_t n_heads, const uint16_t* v, size_t v_stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::kernels::avx2
