#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Rows of one step.
constexpr size_t kRows = 16;

}  // namespace

void scale_sums(const int32_t* parts, size_t stride, size_t n_parts, const float* scale, size_t begin,
                size_t end, float* y) {
  size_t r = begin;
  for (; r + kRows <= end; r += kRows) {
    int32x4_t sum[kRows / 4];
#pragma GCC unroll 4
    for (size_t k = 0; k < kRows / 4; ++k) sum[k] = vld1q_s32(parts + r + 4 * k);
    for (size_t i = 1; i < n_parts; ++i) {
      const int32_t* part = parts + i * stride + r;
#pragma GCC unroll 4
      for (size_t k = 0; k < kRows / 4; ++k) sum[k] = vaddq_s32(sum[k], vld1q_s32(part + 4 * k));
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < kRows / 4; ++k)
      vst1q_f32(y + r + 4 * k, vmulq_f32(vld1q_f32(scale + r + 4 * k), vcvtq_f32_s32(sum[k])));
  }
  for (; r < end; ++r) {
    int32_t sum = parts[r];
    for (size_t i = 1; i < n_parts; ++i) sum += parts[i * stride + r];
    y[r] = scale[r] * static_cast<float>(sum);
  }
}

}  // namespace spiked::kernels::neon
