#include <cmath>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void rms_norm(const float* x, const float* weight, size_t n, float eps, float* y) {
  float p[8] = {};
  for (size_t c = 0; c < n; ++c) p[c % 8] = std::fma(x[c], x[c], p[c % 8]);
  const float sum = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  const float r = 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
  for (size_t c = 0; c < n; ++c) y[c] = (x[c] * r) * weight[c];
}

}  // namespace spiked::kernels::scalar
