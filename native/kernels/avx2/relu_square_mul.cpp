#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {

void relu_square_mul(const float* g, const float* u, size_t n, float* y) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    // max_ps(a, 0) is a > 0 ? a : 0, which makes a NaN 0.
    const __m256 r = _mm256_max_ps(_mm256_loadu_ps(g + i), _mm256_setzero_ps());
    _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(r, r), _mm256_loadu_ps(u + i)));
  }
  for (; i < n; ++i) {
    const float r = g[i] > 0.0f ? g[i] : 0.0f;
    y[i] = (r * r) * u[i];
  }
}

}  // namespace spiked::kernels::avx2
