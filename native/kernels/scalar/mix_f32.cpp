#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void mix_f32(float g, const float* a, const float* b, size_t n, float* y) {
  const float rest = 1.0f - g;
  for (size_t i = 0; i < n; ++i) y[i] = (g * a[i]) + (rest * b[i]);
}

}  // namespace spiked::kernels::scalar
