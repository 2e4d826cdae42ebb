#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

float tree(const float (&p)[8]) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

float sum(const float* x, size_t n) {
  const size_t whole = n / 8 * 8;
  float32x4_t low = vdupq_n_f32(0.0f), high = low;
  for (size_t c = 0; c < whole; c += 8) {
    low = vaddq_f32(low, vld1q_f32(x + c));
    high = vaddq_f32(high, vld1q_f32(x + c + 4));
  }
  float p[8];
  vst1q_f32(p, low);
  vst1q_f32(p + 4, high);
  for (size_t c = whole; c < n; ++c) p[c - whole] = p[c - whole] + x[c];
  return tree(p);
}

float sum_of_squares(const float* x, float mean, size_t n) {
  const size_t whole = n / 8 * 8;
  const float32x4_t means = vdupq_n_f32(mean);
  float32x4_t low = vdupq_n_f32(0.0f), high = low;
  for (size_t c = 0; c < whole; c += 8) {
    const float32x4_t d_low = vsubq_f32(vld1q_f32(x + c), means);
    const float32x4_t d_high = vsubq_f32(vld1q_f32(x + c + 4), means);
    low = vfmaq_f32(low, d_low, d_low);
    high = vfmaq_f32(high, d_high, d_high);
  }
  float p[8];
  vst1q_f32(p, low);
  vst1q_f32(p + 4, high);
  for (size_t c = whole; c < n; ++c) {
    const float d = x[c] - mean;
    p[c - whole] = __builtin_fmaf(d, d, p[c - whole]);
  }
  return tree(p);
}

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, size_t n, float eps, float* y) {
  const float count = static_cast<float>(n);
  const float mean = sum(x, n) / count;
  const float r = 1.0f / __builtin_sqrtf(sum_of_squares(x, mean, n) / count + eps);
  const float32x4_t means = vdupq_n_f32(mean), rs = vdupq_n_f32(r);
  const size_t whole = n / 4 * 4;
  for (size_t c = 0; c < whole; c += 4) {
    const float32x4_t d = vsubq_f32(vld1q_f32(x + c), means);
    vst1q_f32(y + c, vfmaq_f32(vld1q_f32(bias + c), vmulq_f32(d, rs), vld1q_f32(weight + c)));
  }
  for (size_t c = whole; c < n; ++c) y[c] = __builtin_fmaf((x[c] - mean) * r, weight[c], bias[c]);
}

}  // namespace spiked::kernels::neon
