#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void scale_sums(const int32_t* parts, size_t stride, size_t n_parts, const float* scale, size_t begin,
                size_t end, float* y) {
  for (size_t r = begin; r < end; ++r) {
    int32_t sum = parts[r];
    for (size_t p = 1; p < n_parts; ++p) sum += parts[p * stride + r];
    y[r] = scale[r] * static_cast<float>(sum);
  }
}

}  // namespace spiked::kernels::scalar
