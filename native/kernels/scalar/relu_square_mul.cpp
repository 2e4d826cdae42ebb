#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void relu_square_mul(const float* g, const float* u, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) {
    const float r = g[i] > 0.0f ? g[i] : 0.0f;
    y[i] = (r * r) * u[i];
  }
}

}  // namespace spiked::kernels::scalar
