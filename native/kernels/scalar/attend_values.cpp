#include <cmath>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void attend_values(const float* p, const float* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float* y) {
  for (size_t j = 0; j < head_dim; ++j) y[j] = 0.0f;
  for (size_t i = 0; i < n_keys; ++i) {
    const float* value = v + slots[i] * v_stride;
    for (size_t j = 0; j < head_dim; ++j) y[j] = std::fma(p[i], value[j], y[j]);
  }
}

}  // namespace spiked::kernels::scalar
