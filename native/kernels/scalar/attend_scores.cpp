#include <cmath>

#include "base/half.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {
namespace {

float one(float element) { return element; }
float one(uint16_t element) { return half::to_f32(element); }

template <typename T>
void attend(const float* q, size_t n_heads, const T* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float factor, float* scores) {
  for (size_t h = 0; h < n_heads; ++h, q += head_dim, scores += n_keys) {
    for (size_t i = 0; i < n_keys; ++i) {
      const T* key = k + slots[i] * k_stride;
      float p[8] = {};
      for (size_t c = 0; c < head_dim; ++c) p[c % 8] = std::fma(q[c], one(key[c]), p[c % 8]);
      scores[i] = (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))) * factor;
    }
  }
}

}  // namespace

void attend_scores(const float* q, size_t n_heads, const float* k, size_t k_stride, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, n_heads, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

void attend_scores_f16(const float* q, size_t n_heads, const uint16_t* k, size_t k_stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, n_heads, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

}  // namespace spiked::kernels::scalar
