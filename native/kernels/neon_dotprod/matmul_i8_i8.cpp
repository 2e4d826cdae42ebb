#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon_dotprod {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  int32x4_t p[n_tokens][kPanelRows];
  for (auto& token : p) {
    for (int32x4_t& row : token) row = vdupq_n_s32(0);
  }
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
    __builtin_prefetch(w + kPrefetchBytes);
    __builtin_prefetch(w + kPrefetchBytes + 64);
#pragma GCC unroll 2
    for (size_t j = 0; j < kPanelBytes; j += 16) {
      int8x16_t qs[n_tokens];
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) qs[t] = vld1q_s8(q + t * q_stride + c + j);
#pragma GCC unroll 4
      for (size_t r = 0; r < kPanelRows; ++r) {
        const int8x16_t ws = vld1q_s8(w + r * kPanelBytes + j);
#pragma GCC unroll 2
        for (size_t t = 0; t < n_tokens; ++t) p[t][r] = vdotq_s32(p[t][r], ws, qs[t]);
      }
    }
  }
  const float32x4_t scales = vld1q_f32(scale);
  for (size_t t = 0; t < n_tokens; ++t) {
    const int32x4_t sums = vpaddq_s32(vpaddq_s32(p[t][0], p[t][1]), vpaddq_s32(p[t][2], p[t][3]));
    vst1q_f32(y + t * y_stride, vmulq_f32(vcvtq_f32_s32(sums), vmulq_f32(vdupq_n_f32(q_scale[t]), scales)));
  }
}

}  // namespace

void matmul_i8_i8(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
                  size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                  size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    const int8_t* wp = w + row * cols;
    size_t t = 0;
    for (; t + 2 <= batch; t += 2) {
      multiply<2>(wp, scale + row, q + t * q_stride, q_scale + t, q_stride, cols, y + t * y_stride + row,
                  y_stride);
    }
    if (t < batch) {
      multiply<1>(wp, scale + row, q + t * q_stride, q_scale + t, q_stride, cols, y + t * y_stride + row,
                  y_stride);
    }
  }
}

}  // namespace spiked::kernels::neon_dotprod
