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

size_t membrane_step(float* membrane, const float* x, size_t n, float leak, float threshold,
                     uint32_t* active) {
  const float32x4_t leaks = vdupq_n_f32(leak), thresholds = vdupq_n_f32(threshold);
  const float32x4_t low = vdupq_n_f32(-3.0f), high = vdupq_n_f32(3.0f);
  const size_t whole = n / 4 * 4;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += 4) {
    float32x4_t u = vaddq_f32(vmulq_f32(leaks, vld1q_f32(membrane + i)), vld1q_f32(x + i));
    // Compares are false for NaN, which so passes both clamps and does not fire.
    u = vbslq_f32(vcltq_f32(u, low), low, u);
    u = vbslq_f32(vcgtq_f32(u, high), high, u);
    const uint32x4_t spikes = vcgeq_f32(u, thresholds);
    vst1q_f32(membrane + i, vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(u), spikes)));
    for (unsigned bits = lane_bits(spikes); bits != 0; bits &= bits - 1) {
      active[n_active++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
    }
  }
  for (size_t i = whole; i < n; ++i) {
    float u = leak * membrane[i] + x[i];
    u = u < -3.0f ? -3.0f : u;
    u = u > 3.0f ? 3.0f : u;
    const bool spike = u >= threshold;
    membrane[i] = spike ? 0.0f : u;
    if (spike) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::neon
