#include "ops/rope.h"

#include "base/math.h"

namespace spiked::ops {

void rope_angles(const float* inv_freq, size_t half, size_t pos, float* cos, float* sin) {
  const auto p = static_cast<float>(pos);
  for (size_t j = 0; j < half; ++j) {
    const float angle = p * inv_freq[j];
    cos[j] = math::cos_f32(angle);
    sin[j] = math::sin_f32(angle);
  }
}

}  // namespace spiked::ops
