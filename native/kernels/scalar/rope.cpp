#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void rope(float* x, const float* cos, const float* sin, size_t half) {
  for (size_t j = 0; j < half; ++j) {
    const float x1 = x[j], x2 = x[j + half];
    x[j] = (x1 * cos[j]) - (x2 * sin[j]);
    x[j + half] = (x2 * cos[j]) + (x1 * sin[j]);
  }
}

}  // namespace spiked::kernels::scalar
