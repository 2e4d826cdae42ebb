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

/// n_vectors * 4 outputs of each head in registers while every key goes by: a value is converted once for all heads.
template <size_t n_heads, size_t n_vectors, typename T>
void weigh(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys, size_t head_dim,
           float* y) {
  float32x4_t sums[n_heads][n_vectors];
  for (auto& of_head : sums)
    for (float32x4_t& s : of_head) s = vdupq_n_f32(0.0f);
  for (size_t i = 0; i < n_keys; ++i) {
    const T* value = v + slots[i] * v_stride;
    float32x4_t fours[n_vectors];
#pragma GCC unroll 16
    for (size_t k = 0; k < n_vectors; ++k) fours[k] = four(value + 4 * k);
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h) {
      const float32x4_t weight = vdupq_n_f32(p[h * n_keys + i]);
#pragma GCC unroll 16
      for (size_t k = 0; k < n_vectors; ++k) sums[h][k] = vfmaq_f32(sums[h][k], weight, fours[k]);
    }
  }
  for (size_t h = 0; h < n_heads; ++h)
    for (size_t k = 0; k < n_vectors; ++k) vst1q_f32(y + h * head_dim + 4 * k, sums[h][k]);
}

template <size_t n_heads, typename T>
void attend_heads(const float* p, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
                  size_t head_dim, float* y) {
  size_t j = 0;
  const auto run = [&](auto columns, size_t n) {
    for (; j + n <= head_dim; j += n) columns(p, v + j, v_stride, slots, n_keys, head_dim, y + j);
  };
  run(weigh<n_heads, 16 / n_heads, T>, 64 / n_heads);
  run(weigh<n_heads, 8 / n_heads, T>, 32 / n_heads);
  run(weigh<n_heads, 1, T>, 4);
  for (; j < head_dim; ++j)
    for (size_t h = 0; h < n_heads; ++h) {
      float sum = 0.0f;
      for (size_t i = 0; i < n_keys; ++i)
        sum = __builtin_fmaf(p[h * n_keys + i], one(v[slots[i] * v_stride + j]), sum);
      y[h * head_dim + j] = sum;
    }
}

template <typename T>
void attend(const float* p, size_t n_heads, const T* v, size_t v_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float* y) {
  const auto run = [&](auto heads, size_t h) {
    heads(p + h * n_keys, v, v_stride, slots, n_keys, head_dim, y + h * head_dim);
  };
  size_t h = 0;
  for (; h + 4 <= n_heads; h += 4) run(attend_heads<4, T>, h);
  for (; h + 2 <= n_heads; h += 2) run(attend_heads<2, T>, h);
  if (h < n_heads) run(attend_heads<1, T>, h);
}

}  // namespace

void attend_values(const float* p, size_t n_heads, const float* v, size_t v_stride, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

void attend_values_f16(const float* p, size_t n_heads, const uint16_t* v, size_t v_stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float* y) {
  attend(p, n_heads, v, v_stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::kernels::neon
