#include "base/math.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void softmax(float* scores, size_t n) {
  float max = scores[0];
  for (size_t i = 1; i < n; ++i) max = scores[i] > max ? scores[i] : max;
  float sum = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    scores[i] = math::exp_f32(scores[i] - max);
    sum = sum + scores[i];
  }
  for (size_t i = 0; i < n; ++i) scores[i] = scores[i] / sum;
}

}  // namespace spiked::kernels::scalar
