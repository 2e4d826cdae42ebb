#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

size_t threshold_gather(const float* z, size_t n, float threshold, uint32_t* active) {
  size_t n_active = 0;
  for (size_t i = 0; i < n; ++i) {
    if (z[i] >= threshold) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::scalar
