#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

__m256i load(const int32_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

}  // namespace

void scale_sums(const int32_t* parts, size_t stride, size_t n_parts, const float* scale, size_t begin,
                size_t end, float* y) {
  size_t r = begin;
  for (; r + 8 <= end; r += 8) {
    __m256i sum = load(parts + r);
    for (size_t p = 1; p < n_parts; ++p) sum = _mm256_add_epi32(sum, load(parts + p * stride + r));
    _mm256_storeu_ps(y + r, _mm256_mul_ps(_mm256_loadu_ps(scale + r), _mm256_cvtepi32_ps(sum)));
  }
  for (; r < end; ++r) {
    int32_t sum = parts[r];
    for (size_t p = 1; p < n_parts; ++p) sum += parts[p * stride + r];
    y[r] = scale[r] * static_cast<float>(sum);
  }
}

}  // namespace spiked::kernels::avx2
