#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

float sum_of_squares(const float* x, size_t n) {
  const size_t whole = n / 8 * 8;
  float32x4_t low = vdupq_n_f32(0.0f), high = low;
  for (size_t c = 0; c < whole; c += 8) {
    const float32x4_t a = vld1q_f32(x + c), b = vld1q_f32(x + c + 4);
    low = vfmaq_f32(low, a, a);
    high = vfmaq_f32(high, b, b);
  }
  float p[8];
  vst1q_f32(p, low);
  vst1q_f32(p + 4, high);
  for (size_t c = whole; c < n; ++c) p[c - whole] = __builtin_fmaf(x[c], x[c], p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

}  // namespace

void rms_norm(const float* x, const float* weight, size_t n, float eps, float* y) {
  const float r = 1.0f / __builtin_sqrtf(sum_of_squares(x, n) / static_cast<float>(n) + eps);
  const size_t whole = n / 4 * 4;
  for (size_t c = 0; c < whole; c += 4)
    vst1q_f32(y + c, vmulq_f32(vmulq_n_f32(vld1q_f32(x + c), r), vld1q_f32(weight + c)));
  for (size_t c = whole; c < n; ++c) y[c] = (x[c] * r) * weight[c];
}

}  // namespace spiked::kernels::neon
