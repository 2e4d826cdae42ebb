#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

float sum_of_squares(const float* x, size_t n) {
  const size_t whole = n / 8 * 8;
  __m256 sums = _mm256_setzero_ps();
  for (size_t c = 0; c < whole; c += 8) {
    const __m256 v = _mm256_loadu_ps(x + c);
    sums = _mm256_fmadd_ps(v, v, sums);
  }
  float p[8];
  _mm256_storeu_ps(p, sums);
  for (size_t c = whole; c < n; ++c) p[c - whole] = __builtin_fmaf(x[c], x[c], p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

}  // namespace

void rms_norm(const float* x, const float* weight, size_t n, float eps, float* y) {
  const float r = 1.0f / __builtin_sqrtf(sum_of_squares(x, n) / static_cast<float>(n) + eps);
  const __m256 rs = _mm256_set1_ps(r);
  const size_t whole = n / 8 * 8;
  for (size_t c = 0; c < whole; c += 8)
    _mm256_storeu_ps(y + c,
                     _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + c), rs), _mm256_loadu_ps(weight + c)));
  for (size_t c = whole; c < n; ++c) y[c] = (x[c] * r) * weight[c];
}

}  // namespace spiked::kernels::avx2
