#include <cmath>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

float quantize_i16(const float* x, size_t n, int16_t* q) {
  float max = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float size = std::fabs(x[i]);
    max = size > max ? size : max;
  }
  float scale = max / 32639.0f;
  scale = scale > 0.0f ? scale : 1.0f;
  for (size_t i = 0; i < n; ++i) {
    float v = x[i] / scale;
    v = v == v ? v : 0.0f;
    v = v < -32639.0f ? -32639.0f : v;
    v = v > 32639.0f ? 32639.0f : v;
    q[i] = static_cast<int16_t>(std::nearbyint(v));
  }
  return scale;
}

}  // namespace spiked::kernels::scalar
