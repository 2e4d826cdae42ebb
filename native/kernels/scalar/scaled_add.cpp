#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void scaled_add(float p, const float* b, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] + (p * b[i]);
}

}  // namespace spiked::kernels::scalar
