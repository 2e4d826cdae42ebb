#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void add_f32(const float* a, const float* b, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

}  // namespace spiked::kernels::scalar
