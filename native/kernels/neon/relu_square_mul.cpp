#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {

void relu_square_mul(const float* g, const float* u, size_t n, float* y) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    // A compare as a mask, since vmaxq would let a NaN through.
    const float32x4_t gate = vld1q_f32(g + i);
    const float32x4_t r =
        vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(gate), vcgtq_f32(gate, vdupq_n_f32(0.0f))));
    vst1q_f32(y + i, vmulq_f32(vmulq_f32(r, r), vld1q_f32(u + i)));
  }
  for (; i < n; ++i) {
    const float r = g[i] > 0.0f ? g[i] : 0.0f;
    y[i] = (r * r) * u[i];
  }
}

}  // namespace spiked::kernels::neon
