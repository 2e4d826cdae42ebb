#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Keys walked at once: one key alone would wait for the latency of its single FMA chain.
constexpr size_t kKeys = 4;
/// As in attend_scores: the values of the same positions for heads of 128 columns.
constexpr size_t kAheadHalves = 2048;
constexpr size_t kLineHalves = 32;

__m256 widen(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

/// p[i] = the eight partial sums of key i over `whole` columns.
template <size_t n>
void multiply(const float* q, const uint16_t* const (&keys)[n], size_t whole, __m256 (&p)[n]) {
  for (__m256& sums : p) sums = _mm256_setzero_ps();
  for (size_t c = 0; c < whole; c += 8) {
    if (c % kLineHalves == 0) {
      for (const uint16_t* key : keys) __builtin_prefetch(key + c + kAheadHalves, 0, 2);
    }
    const __m256 qs = _mm256_loadu_ps(q + c);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) p[i] = _mm256_fmadd_ps(qs, widen(keys[i] + c), p[i]);
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
float finish(__m256 partial, const float* q, const uint16_t* key, size_t whole, size_t head_dim) {
  float p[8];
  _mm256_storeu_ps(p, partial);
  for (size_t c = whole; c < head_dim; ++c)
    p[c - whole] = __builtin_fmaf(q[c], _cvtsh_ss(key[c]), p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

}  // namespace

void attend_scores_f16(const float* q, const uint16_t* k, size_t k_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float factor, float* scores) {
  const size_t whole = head_dim / 8 * 8;
  const auto key = [&](size_t i) { return k + slots[i] * k_stride; };
  size_t i = 0;
  for (; i + kKeys <= n_keys; i += kKeys) {
    const uint16_t* const keys[kKeys] = {key(i), key(i + 1), key(i + 2), key(i + 3)};
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
    multiply<1>(q, {key(i)}, whole, p);
    scores[i] = finish(p[0], q, key(i), whole, head_dim) * factor;
  }
}

}  // namespace spiked::kernels::avx2
