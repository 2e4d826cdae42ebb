#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Keys walked at once: one key alone would wait for the latency of its single FMA chain.
constexpr size_t kKeys = 4;
/// How far on lines are fetched into L2. In the blocks of KvWindow these are the values of the same positions, which come next; a
/// head's 16 keys or values are too short a run for the hardware alone (docs/experiments.md).
constexpr size_t kAheadBytes = 4096;
constexpr size_t kLineBytes = 64;

/// Eight elements, f32 or f16, as f32.
__m256 eight(const float* at) { return _mm256_loadu_ps(at); }
__m256 eight(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
float one(float element) { return element; }
float one(uint16_t element) { return _cvtsh_ss(element); }

/// p[i] = the eight partial sums of key i over `whole` columns.
template <typename T, size_t n>
void multiply(const float* q, const T* const (&keys)[n], size_t whole, __m256 (&p)[n]) {
  constexpr size_t kLine = kLineBytes / sizeof(T), kVectors = kLine / 8;
  for (__m256& sums : p) sums = _mm256_setzero_ps();
  size_t c = 0;
  for (; c + kLine <= whole; c += kLine) {
    __m256 line[kVectors];
    for (size_t v = 0; v < kVectors; ++v) line[v] = _mm256_loadu_ps(q + c + 8 * v);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) {
      __builtin_prefetch(keys[i] + c + kAheadBytes / sizeof(T), 0, 2);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) p[i] = _mm256_fmadd_ps(line[v], eight(keys[i] + c + 8 * v), p[i]);
    }
  }
  for (; c < whole; c += 8) {
    const __m256 last = _mm256_loadu_ps(q + c);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) p[i] = _mm256_fmadd_ps(last, eight(keys[i] + c), p[i]);
  }
}

/// The tree of docs/numerics.md over the partial sums of four keys at once.
__m128 reduce_keys(const __m256 (&p)[kKeys]) {
  __m128 s[kKeys];
  for (size_t i = 0; i < kKeys; ++i)
    s[i] = _mm_add_ps(_mm256_castps256_ps128(p[i]), _mm256_extractf128_ps(p[i], 1));
  _MM_TRANSPOSE4_PS(s[0], s[1], s[2], s[3]);
  return _mm_add_ps(_mm_add_ps(s[0], s[2]), _mm_add_ps(s[1], s[3]));
}

/// One key's sum with the columns that fill no vector.
template <typename T>
float finish(__m256 partial, const float* q, const T* key, size_t whole, size_t head_dim) {
  float p[8];
  _mm256_storeu_ps(p, partial);
  for (size_t c = whole; c < head_dim; ++c) p[c - whole] = __builtin_fmaf(q[c], one(key[c]), p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

template <typename T>
void attend(const float* q, const T* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float factor, float* scores) {
  const size_t whole = head_dim / 8 * 8;
  const auto key = [&](size_t i) { return k + slots[i] * k_stride; };
  size_t i = 0;
  for (; i + kKeys <= n_keys; i += kKeys) {
    const T* const keys[kKeys] = {key(i), key(i + 1), key(i + 2), key(i + 3)};
    __m256 p[kKeys];
    multiply(q, keys, whole, p);
    if (whole == head_dim) {
      _mm_storeu_ps(scores + i, _mm_mul_ps(reduce_keys(p), _mm_set1_ps(factor)));
    } else {
      for (size_t j = 0; j < kKeys; ++j) scores[i + j] = finish(p[j], q, keys[j], whole, head_dim) * factor;
    }
  }
  for (; i < n_keys; ++i) {
    __m256 p[1];
    const T* const keys[1] = {key(i)};
    multiply(q, keys, whole, p);
    scores[i] = finish(p[0], q, key(i), whole, head_dim) * factor;
  }
}

}  // namespace

void attend_scores(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float factor, float* scores) {
  attend(q, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

void attend_scores_f16(const float* q, const uint16_t* k, size_t k_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

}  // namespace spiked::kernels::avx2
