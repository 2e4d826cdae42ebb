#include <cmath>

#include "base/half.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void attend_scores_f16(const float* q, const uint16_t* k, size_t k_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float factor, float* scores) {
  for (size_t i = 0; i < n_keys; ++i) {
    const uint16_t* key = k + slots[i] * k_stride;
    float p[8] = {};
    for (size_t c = 0; c < head_dim; ++c) p[c % 8] = std::fma(q[c], half::to_f32(key[c]), p[c % 8]);
    scores[i] = (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))) * factor;
  }
}

}  // namespace spiked::kernels::scalar
