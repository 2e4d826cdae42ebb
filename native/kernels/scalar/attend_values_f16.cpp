#include <cmath>

#include "base/half.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void attend_values_f16(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
  for (size_t j = 0; j < head_dim; ++j) y[j] = 0.0f;
  for (size_t i = 0; i < n_keys; ++i) {
    const uint16_t* value = v + slots[i] * v_stride;
    for (size_t j = 0; j < head_dim; ++j) y[j] = std::fma(p[i], half::to_f32(value[j]), y[j]);
  }
}

}  // namespace spiked::kernels::scalar
