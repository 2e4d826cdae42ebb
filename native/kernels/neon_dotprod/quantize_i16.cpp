#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon_dotprod {
namespace {

using layout::kPlaneColumns;

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

int8x16_t quantize_8(const float* x, float32x4_t scale) {
  const int16x4_t low = vmovn_s32(quantize(vld1q_f32(x), scale));
  return vreinterpretq_s8_s16(vmovn_high_s32(low, quantize(vld1q_f32(x + 4), scale)));
}

/// As the low bytes are signed, half a high one is carried; |q| <= 32639 leaves room for it.
int8x16_t carry(int8x16_t q) {
  return vreinterpretq_s8_s16(vaddq_s16(vreinterpretq_s16_s8(q), vdupq_n_s16(128)));
}

}  // namespace

float quantize_i16(const float* x, size_t n, int16_t* q) {
  float scale = largest_size(x, n) / 32639.0f;
  scale = scale > 0.0f ? scale : 1.0f;
  const float32x4_t scales = vdupq_n_f32(scale);
  auto* planes = reinterpret_cast<int8_t*>(q);
  size_t i = 0;
  for (; i + kPlaneColumns <= n; i += kPlaneColumns, planes += 2 * kPlaneColumns) {
#pragma GCC unroll 2
    for (size_t j = 0; j < kPlaneColumns; j += 16) {
      const int8x16_t a = quantize_8(x + i + j, scales), b = quantize_8(x + i + j + 8, scales);
      vst1q_s8(planes + j, vuzp2q_s8(carry(a), carry(b)));
      vst1q_s8(planes + kPlaneColumns + j, vuzp1q_s8(a, b));
    }
  }
  for (; i < n; ++i, ++planes) {
    const int32_t value = vgetq_lane_s32(quantize(vdupq_n_f32(x[i]), scales), 0);
    planes[0] = static_cast<int8_t>((value + 128) >> 8);
    planes[kPlaneColumns] = static_cast<int8_t>(value);
  }
  return scale;
}

}  // namespace spiked::kernels::neon_dotprod
