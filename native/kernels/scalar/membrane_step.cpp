#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

size_t membrane_step(float* membrane, const float* x, size_t n, float leak, float threshold,
                     uint32_t* active) {
  size_t n_active = 0;
  for (size_t i = 0; i < n; ++i) {
    float u = leak * membrane[i] + x[i];
    u = u < -3.0f ? -3.0f : u;
    u = u > 3.0f ? 3.0f : u;
    const bool spike = u >= threshold;
    membrane[i] = spike ? 0.0f : u;
    if (spike) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::scalar
