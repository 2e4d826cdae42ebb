#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void decay_step(float* h, const float* a, float beta, size_t n) {
  const float rest = 1.0f - beta;
  for (size_t i = 0; i < n; ++i) h[i] = (beta * h[i]) + (rest * a[i]);
}

}  // namespace spiked::kernels::scalar
