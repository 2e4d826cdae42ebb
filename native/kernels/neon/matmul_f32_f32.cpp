#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

using layout::kPanelRows;

/// Columns of one block: eight, two registers a row.
constexpr size_t kBlockColumns = layout::kPanelBytes / sizeof(float);
constexpr size_t kBlockFloats = kPanelRows * kBlockColumns;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchFloats = 512;
/// Activations of the tokens walked per panel: they should stay in L2 beside the panel.
constexpr size_t kTokenBlockBytes = 128 * 1024;
constexpr size_t kTokens = 2;

/// The tree of docs/numerics.md over four rows at once; a row's eight partial sums are two registers.
float32x4_t reduce_rows(const float32x4_t (&p)[kPanelRows][2]) {
  const float32x4_t s0 = vaddq_f32(p[0][0], p[0][1]), s1 = vaddq_f32(p[1][0], p[1][1]);
  const float32x4_t s2 = vaddq_f32(p[2][0], p[2][1]), s3 = vaddq_f32(p[3][0], p[3][1]);
  const float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(s0, s1));
  const float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(s2, s3));
  const float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(s0, s1));
  const float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(s2, s3));
  const float32x4_t c0 = vreinterpretq_f32_f64(vtrn1q_f64(even01, even23));
  const float32x4_t c1 = vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23));
  const float32x4_t c2 = vreinterpretq_f32_f64(vtrn2q_f64(even01, even23));
  const float32x4_t c3 = vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23));
  return vaddq_f32(vaddq_f32(c0, c2), vaddq_f32(c1, c3));
}

/// One panel times n_tokens tokens, their 4 * n_tokens sums in registers.
template <size_t n_tokens>
void multiply(const float* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  float32x4_t p[n_tokens][kPanelRows][2];
  for (auto& token : p) {
    for (auto& row : token) row[0] = row[1] = vdupq_n_f32(0.0f);
  }
  for (size_t c = 0; c < cols; c += kBlockColumns, w += kBlockFloats) {
    __builtin_prefetch(w + kPrefetchFloats);
    __builtin_prefetch(w + kPrefetchFloats + 16);
    float32x4_t low[n_tokens], high[n_tokens];
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) {
      low[t] = vld1q_f32(x + t * x_stride + c);
      high[t] = vld1q_f32(x + t * x_stride + c + 4);
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < kPanelRows; ++r) {
      const float32x4_t w_low = vld1q_f32(w + r * kBlockColumns);
      const float32x4_t w_high = vld1q_f32(w + r * kBlockColumns + 4);
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) {
        p[t][r][0] = vfmaq_f32(p[t][r][0], w_low, low[t]);
        p[t][r][1] = vfmaq_f32(p[t][r][1], w_high, high[t]);
      }
    }
  }
  for (size_t t = 0; t < n_tokens; ++t) vst1q_f32(y + t * y_stride, reduce_rows(p[t]));
}

void multiply_tokens(const float* w, const float* x, size_t x_stride, size_t n_tokens, size_t cols,
                     size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    const float* wp = w + row * cols;
    size_t t = 0;
    for (; t + kTokens <= n_tokens; t += kTokens) {
      multiply<kTokens>(wp, x + t * x_stride, x_stride, cols, y + t * y_stride + row, y_stride);
    }
    if (t < n_tokens) {
      multiply<1>(wp, x + t * x_stride, x_stride, cols, y + t * y_stride + row, y_stride);
    }
  }
}

}  // namespace

void matmul_f32_f32(const float* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t fitting = cols == 0 ? batch : kTokenBlockBytes / (cols * sizeof(float));
  const size_t block = fitting < 4 * kTokens ? 4 * kTokens : fitting / kTokens * kTokens;
  for (size_t t = 0; t < batch; t += block) {
    const size_t n_tokens = batch - t < block ? batch - t : block;
    multiply_tokens(w, x + t * x_stride, x_stride, n_tokens, cols, panel_begin, panel_end, y + t * y_stride,
                    y_stride);
  }
}

}  // namespace spiked::kernels::neon
