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

/// 16 activations as two signed bytes each, q = 256 * high + low.
struct Planes {
  int8x16_t high, low;
};
Planes split(const int16_t* q) {
  const int16x8_t a = vld1q_s16(q), b = vld1q_s16(q + 8),
                  half = vdupq_n_s16(128);  // |q| <= 32639 leaves room for it
  return {vuzp2q_s8(vreinterpretq_s8_s16(vaddq_s16(a, half)), vreinterpretq_s8_s16(vaddq_s16(b, half))),
          vuzp1q_s8(vreinterpretq_s8_s16(a), vreinterpretq_s8_s16(b))};
}

/// f32(sum) * (q_scale * scale) of four rows; through f64, which holds every sum exactly.
float32x4_t finish(const int64x2_t (&sum)[kPanelRows / 2], float q_scale, const float* scale) {
  const float32x4_t rounded = vcvt_high_f32_f64(vcvt_f32_f64(vcvtq_f64_s64(sum[0])), vcvtq_f64_s64(sum[1]));
  return vmulq_f32(rounded, vmulq_f32(vdupq_n_f32(q_scale), vld1q_f32(scale)));
}

/// A lane of each plane's sums takes a quarter of the columns: 128 * 128 * 2^15 < 2^31.
template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  int32x4_t high[n_tokens][kPanelRows], low[n_tokens][kPanelRows];
  for (size_t t = 0; t < n_tokens; ++t) {
    for (size_t r = 0; r < kPanelRows; ++r) high[t][r] = low[t][r] = vdupq_n_s32(0);
  }
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
    __builtin_prefetch(w + kPrefetchBytes);
    __builtin_prefetch(w + kPrefetchBytes + 64);
#pragma GCC unroll 2
    for (size_t j = 0; j < kPanelBytes; j += 16) {
      Planes qs[n_tokens];
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) qs[t] = split(q + t * q_stride + c + j);
#pragma GCC unroll 4
      for (size_t r = 0; r < kPanelRows; ++r) {
        const int8x16_t ws = vld1q_s8(w + r * kPanelBytes + j);
#pragma GCC unroll 2
        for (size_t t = 0; t < n_tokens; ++t) {
          high[t][r] = vdotq_s32(high[t][r], ws, qs[t].high);
          low[t][r] = vdotq_s32(low[t][r], ws, qs[t].low);
        }
      }
    }
  }
  for (size_t t = 0; t < n_tokens; ++t) {
    int64x2_t sum[kPanelRows / 2];
    for (size_t r = 0; r < kPanelRows; r += 2) {
      const int64x2_t high_sums = vpaddq_s64(vpaddlq_s32(high[t][r]), vpaddlq_s32(high[t][r + 1]));
      const int64x2_t low_sums = vpaddq_s64(vpaddlq_s32(low[t][r]), vpaddlq_s32(low[t][r + 1]));
      sum[r / 2] = vaddq_s64(vshlq_n_s64(high_sums, 8), low_sums);
    }
    vst1q_f32(y + t * y_stride, finish(sum, q_scale[t], scale));
  }
}

}  // namespace

void matmul_i8_i16(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                   size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
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
