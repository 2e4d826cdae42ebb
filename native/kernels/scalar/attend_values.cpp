#include <cmath>

#include "base/half.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {
namespace {

float one(float element) { return element; }
float one(uint16_t element) { return half::to_f32(element); }

template <typename T>
void attend(const float* p, size_t n_heads, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float* y) {
  for (size_t h = 0; h < n_heads; ++h, p += n_keys, y += head_dim) {
    for (size_t j = 0; j < head_dim; ++j) y[j] = 0.0f;
    for (size_t i = 0; i < n_keys; ++i) {
      const T* value = v + slots[i] * v_stride;
      for (size_t j = 0; j < head_dim; ++j) y[j] = std::fma(p[i], one(value[j]), y[j]);
    }
  }
}

}  // namespace

void attend_values(const float* p, size_t n_heads, const float* v, size_t v_stride, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

void attend_values_f16(const float* p, size_t n_heads, const uint16_t* v, size_t v_stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::kernels::scalar
