#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Bit i of the answer: lane i of the mask.
unsigned lane_bits(uint32x4_t mask) {
  static const uint32_t kBits[4] = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask, vld1q_u32(kBits)));
}

}  // namespace

size_t threshold_gather(const float* z, size_t n, float threshold, uint32_t* active) {
  const float32x4_t thresholds = vdupq_n_f32(threshold);
  const size_t whole = n / 4 * 4;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += 4) {
    unsigned bits = lane_bits(vcgeq_f32(vld1q_f32(z + i), thresholds));
    for (; bits != 0; bits &= bits - 1) {
      active[n_active++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
    }
  }
  for (size_t i = whole; i < n; ++i) {
    if (z[i] >= threshold) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::neon
