#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

float tree(const float (&p)[8]) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

/// Keys walked at once: one key alone would wait for the latency of its single FMA chain.
constexpr size_t kKeys = 4;

template <size_t n>
void score_keys(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t head_dim,
                float factor, float* scores) {
  const float* keys[n];
  __m256 p[n];
  for (size_t i = 0; i < n; ++i) {
    keys[i] = k + slots[i] * k_stride;
    p[i] = _mm256_setzero_ps();
  }
  const size_t whole = head_dim / 8 * 8;
  for (size_t c = 0; c < whole; c += 8) {
    const __m256 qs = _mm256_loadu_ps(q + c);
    for (size_t i = 0; i < n; ++i) p[i] = _mm256_fmadd_ps(qs, _mm256_loadu_ps(keys[i] + c), p[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    float sums[8];
    _mm256_storeu_ps(sums, p[i]);
    for (size_t c = whole; c < head_dim; ++c) {
      sums[c - whole] = __builtin_fmaf(q[c], keys[i][c], sums[c - whole]);
    }
    scores[i] = tree(sums) * factor;
  }
}

}  // namespace

void attend_scores(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float factor, float* scores) {
  size_t i = 0;
  for (; i + kKeys <= n_keys; i += kKeys) {
    score_keys<kKeys>(q, k, k_stride, slots + i, head_dim, factor, scores + i);
  }
  for (; i < n_keys; ++i) score_keys<1>(q, k, k_stride, slots + i, head_dim, factor, scores + i);
}

}  // namespace spiked::kernels::avx2
