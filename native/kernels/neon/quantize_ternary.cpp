#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

constexpr float kFloor = 1e-5f;
constexpr uint32_t kMagnitude = 0x7fffffff;

/// By the bits without the sign: NaN is larger than infinity, and infinity larger than any number.
float largest(const float* x, size_t n) {
  const uint32x4_t magnitude = vdupq_n_u32(kMagnitude);
  uint32x4_t max = vdupq_n_u32(0);
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    max = vmaxq_u32(max, vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), magnitude));
  uint32_t most = vmaxvq_u32(max);
  for (; i < n; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= kMagnitude;
    most = bits > most ? bits : most;
  }
  float out;
  __builtin_memcpy(&out, &most, sizeof out);
  return out;
}

/// Four codes, rounded half to even; the multiplier keeps them within +-127.
int32x4_t quantize(float32x4_t x, float multiplier) { return vcvtnq_s32_f32(vmulq_n_f32(x, multiplier)); }

}  // namespace

TernaryRow quantize_ternary(const float* x, size_t n, int8_t* q) {
  const float absmax = largest(x, n);
  TernaryRow row{absmax, 127.0f / (absmax > kFloor ? absmax : kFloor), 0};
  if (!(absmax < __builtin_inff())) {
    __builtin_memset(q, 0, n);
    return row;
  }
  int32x4_t sums = vdupq_n_s32(0);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const int32x4_t low = quantize(vld1q_f32(x + i), row.multiplier);
    const int32x4_t high = quantize(vld1q_f32(x + i + 4), row.multiplier);
    sums = vaddq_s32(sums, vaddq_s32(low, high));
    vst1_s8(q + i, vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high))));
  }
  row.sum = vaddvq_s32(sums);
  for (; i < n; ++i) {
    const int32_t code = vgetq_lane_s32(quantize(vdupq_n_f32(x[i]), row.multiplier), 0);
    q[i] = static_cast<int8_t>(code);
    row.sum += code;
  }
  return row;
}

}  // namespace spiked::kernels::neon
