#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Four elements, f32 or f16, as f32.
float32x4_t four(const float* at) { return vld1q_f32(at); }
float32x4_t four(const uint16_t* at) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at))); }
float one(float element) { return element; }
float one(uint16_t element) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(element))), 0);
}

/// n_vectors * 4 outputs in registers while every key goes by.
template <size_t n_vectors, typename T>
void weigh(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys, float* y) {
  float32x4_t sums[n_vectors];
  for (float32x4_t& s : sums) s = vdupq_n_f32(0.0f);
  for (size_t i = 0; i < n_keys; ++i) {
    const float32x4_t weight = vdupq_n_f32(p[i]);
    const T* value = v + slots[i] * v_stride;
#pragma GCC unroll 16
    for (size_t k = 0; k < n_vectors; ++k) sums[k] = vfmaq_f32(sums[k], weight, four(value + 4 * k));
  }
  for (size_t k = 0; k < n_vectors; ++k) vst1q_f32(y + 4 * k, sums[k]);
}

template <typename T>
void attend(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float* y) {
  size_t j = 0;
  for (; j + 64 <= head_dim; j += 64) weigh<16>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 32 <= head_dim; j += 32) weigh<8>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j + 4 <= head_dim; j += 4) weigh<1>(p, v + j, v_stride, slots, n_keys, y + j);
  for (; j < head_dim; ++j) {
    float sum = 0.0f;
    for (size_t i = 0; i < n_keys; ++i) sum = __builtin_fmaf(p[i], one(v[slots[i] * v_stride + j]), sum);
    y[j] = sum;
  }
}

}  // namespace

void attend_values(const float* p, const float* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float* y) {
  attend(p, v, v_stride, slots, n_keys, head_dim, y);
}

void attend_values_f16(const float* p, const uint16_t* v, size_t v_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
  attend(p, v, v_stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::kernels::neon
