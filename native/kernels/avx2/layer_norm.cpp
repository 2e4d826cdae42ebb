#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

float tree(const float (&p)[8]) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

float sum(const float* x, size_t n) {
  const size_t whole = n / 8 * 8;
  __m256 acc = _mm256_setzero_ps();
  for (size_t c = 0; c < whole; c += 8) acc = _mm256_add_ps(acc, _mm256_loadu_ps(x + c));
  float p[8];
  _mm256_storeu_ps(p, acc);
  for (size_t c = whole; c < n; ++c) p[c - whole] = p[c - whole] + x[c];
  return tree(p);
}

float sum_of_squares(const float* x, float mean, size_t n) {
  const size_t whole = n / 8 * 8;
  const __m256 means = _mm256_set1_ps(mean);
  __m256 acc = _mm256_setzero_ps();
  for (size_t c = 0; c < whole; c += 8) {
    const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + c), means);
    acc = _mm256_fmadd_ps(d, d, acc);
  }
  float p[8];
  _mm256_storeu_ps(p, acc);
  for (size_t c = whole; c < n; ++c) {
    const float d = x[c] - mean;
    p[c - whole] = __builtin_fmaf(d, d, p[c - whole]);
  }
  return tree(p);
}

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, size_t n, float eps, float* y) {
  const float count = static_cast<float>(n);
  const float mean = sum(x, n) / count;
  const float r = 1.0f / __builtin_sqrtf(sum_of_squares(x, mean, n) / count + eps);
  const __m256 means = _mm256_set1_ps(mean), rs = _mm256_set1_ps(r);
  const size_t whole = n / 8 * 8;
  for (size_t c = 0; c < whole; c += 8) {
    const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + c), means);
    _mm256_storeu_ps(
        y + c, _mm256_fmadd_ps(_mm256_mul_ps(d, rs), _mm256_loadu_ps(weight + c), _mm256_loadu_ps(bias + c)));
  }
  for (size_t c = whole; c < n; ++c) y[c] = __builtin_fmaf((x[c] - mean) * r, weight[c], bias[c]);
}

}  // namespace spiked::kernels::avx2
