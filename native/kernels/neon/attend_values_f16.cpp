#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

float32x4_t widen(uint16x4_t half) { return vcvt_f32_f16(vreinterpret_f16_u16(half)); }

/// n_vectors * 4 outputs in registers while every key goes by.
template <size_t n_vectors>
void weigh(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
           float* y) {
  float32x4_t sums[n_vectors];
  for (float32x4_t& s : sums) s = vdupq_n_f32(0.0f);
  for (size_t i = 0; i < n_keys; ++i) {
    const float32x4_t weight = vdupq_n_f32(p[i]);
    const uint16_t* value = v + slots[i] * v_stride;
#pragma GCC unroll 16
    for (size_t k = 0; k < n_vectors; ++k)
      sums[k] = vfmaq_f32(sums[k], weight, widen(vld1_u16(value + 4 * k)));
  }
  for (size_t k = 0; k < n_vectors; ++k) vst1q_f32(y + 4 * k, sums[k]);
}

}  // namespace

void attend_values_f16(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
  size_t j = 0;
  for (; j + 64 <= head_dim; j += 64) weigh<16>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 32 <= head_dim; j += 32) weigh<8>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 4 <= head_dim; j += 4) weigh<1>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j < head_dim; ++j) {
    float sum = 0.0f;
    for (size_t i = 0; i < n_keys; ++i)
      sum = __builtin_fmaf(p[i], vgetq_lane_f32(widen(vdup_n_u16(v[slots[i] * v_stride + j])), 0), sum);
    y[j] = sum;
  }
}

}  // namespace spiked::kernels::neon
