#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

float largest_size(const float* x, size_t n) {
  const size_t whole = n / 4 * 4;
  float32x4_t max = vdupq_n_f32(0.0f);
  for (size_t i = 0; i < whole; i += 4) {
    // A compare and a select, since vmaxq would let a NaN through.
    const float32x4_t size = vabsq_f32(vld1q_f32(x + i));
    max = vbslq_f32(vcgtq_f32(size, max), size, max);
  }
  float largest = vmaxvq_f32(max);
  for (size_t i = whole; i < n; ++i) {
    const float size = __builtin_fabsf(x[i]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

/// Four quotients, rounded half to even and clipped; a NaN converts to 0.
int32x4_t quantize(float32x4_t x, float32x4_t scale) {
  const int32x4_t q = vcvtnq_s32_f32(vdivq_f32(x, scale));
  return vminq_s32(vmaxq_s32(q, vdupq_n_s32(-32639)), vdupq_n_s32(32639));
}

}  // namespace

float quantize_i16(const float* x, size_t n, int16_t* q) {
  float scale = largest_size(x, n) / 32639.0f;
  scale = scale > 0.0f ? scale : 1.0f;
  const float32x4_t scales = vdupq_n_f32(scale);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const int16x4_t low = vmovn_s32(quantize(vld1q_f32(x + i), scales));
    const int16x4_t high = vmovn_s32(quantize(vld1q_f32(x + i + 4), scales));
    vst1q_s16(q + i, vcombine_s16(low, high));
  }
  for (; i < n; ++i) q[i] = static_cast<int16_t>(vgetq_lane_s32(quantize(vdupq_n_f32(x[i]), scales), 0));
  return scale;
}

}  // namespace spiked::kernels::neon
