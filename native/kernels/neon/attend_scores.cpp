#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Keys walked at once: one key alone would wait for the latency of its FMA chains.
constexpr size_t kKeys = 4;

/// Eight elements, f32 or f16, as f32.
struct Eight {
  float32x4_t low, high;
};
Eight eight(const float* at) { return {vld1q_f32(at), vld1q_f32(at + 4)}; }
Eight eight(const uint16_t* at) {
  const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(at));
  return {vcvt_f32_f16(vget_low_f16(half)), vcvt_high_f32_f16(half)};
}
float one(float element) { return element; }
float one(uint16_t element) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(element))), 0);
}

/// p[i] = the eight partial sums of key i over `whole` columns.
template <typename T, size_t n>
void multiply(const float* q, const T* const (&keys)[n], size_t whole, float32x4_t (&p)[n][2]) {
  for (auto& sums : p) sums[0] = sums[1] = vdupq_n_f32(0.0f);
  for (size_t c = 0; c < whole; c += 8) {
    const float32x4_t low = vld1q_f32(q + c), high = vld1q_f32(q + c + 4);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) {
      const Eight key = eight(keys[i] + c);
      p[i][0] = vfmaq_f32(p[i][0], low, key.low);
      p[i][1] = vfmaq_f32(p[i][1], high, key.high);
    }
  }
}

/// The tree of docs/numerics.md over the partial sums of four keys at once.
float32x4_t reduce_keys(const float32x4_t (&p)[kKeys][2]) {
  float32x4_t s[kKeys];
  for (size_t i = 0; i < kKeys; ++i) s[i] = vaddq_f32(p[i][0], p[i][1]);
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(s[0], s[1])),
                    b = vreinterpretq_f64_f32(vtrn2q_f32(s[0], s[1])),
                    c = vreinterpretq_f64_f32(vtrn1q_f32(s[2], s[3])),
                    d = vreinterpretq_f64_f32(vtrn2q_f32(s[2], s[3]));
  const auto sum = [](float64x2_t x, float64x2_t y) {  // elements 0 and 2, or 1 and 3, of the four keys
    return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(x, y)), vreinterpretq_f32_f64(vtrn2q_f64(x, y)));
  };
  return vaddq_f32(sum(a, c), sum(b, d));
}

/// One key's sum with the columns that fill no vector.
template <typename T>
float finish(const float32x4_t (&partial)[2], const float* q, const T* key, size_t whole, size_t head_dim) {
  float p[8];
  vst1q_f32(p, partial[0]);
  vst1q_f32(p + 4, partial[1]);
  for (size_t c = whole; c < head_dim; ++c) p[c - whole] = __builtin_fmaf(q[c], one(key[c]), p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

template <typename T>
void attend(const float* q, const T* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float factor, float* scores) {
  const size_t whole = head_dim / 8 * 8;
  const auto key = [&](size_t i) { return k + slots[i] * k_stride; };
  size_t i = 0;
  for (; i + kKeys <= n_keys; i += kKeys) {
    const T* const keys[kKeys] = {key(i), key(i + 1), key(i + 2), key(i + 3)};
    float32x4_t p[kKeys][2];
    multiply(q, keys, whole, p);
    if (whole == head_dim) {
      vst1q_f32(scores + i, vmulq_n_f32(reduce_keys(p), factor));
    } else {
      for (size_t j = 0; j < kKeys; ++j) scores[i + j] = finish(p[j], q, keys[j], whole, head_dim) * factor;
    }
  }
  for (; i < n_keys; ++i) {
    float32x4_t p[1][2];
    const T* const keys[1] = {key(i)};
    multiply(q, keys, whole, p);
    scores[i] = finish(p[0], q, key(i), whole, head_dim) * factor;
  }
}

}  // namespace

void attend_scores(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float factor, float* scores) {
  attend(q, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

void attend_scores_f16(const float* q, const uint16_t* k, size_t k_stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

}  // namespace spiked::kernels::neon
