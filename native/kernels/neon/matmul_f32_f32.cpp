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
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums, of two rows at a time, fit the registers.
constexpr size_t kTokens = 4;

/// (p0 + p4) + (p2 + p6) and (p1 + p5) + (p3 + p7) of two rows, whose eight partial sums are two registers.
float32x4_t fold(const float32x4_t (&a)[2], const float32x4_t (&b)[2]) {
  const float64x2_t sum_a = vreinterpretq_f64_f32(vaddq_f32(a[0], a[1]));
  const float64x2_t sum_b = vreinterpretq_f64_f32(vaddq_f32(b[0], b[1]));
  return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(sum_a, sum_b)),
                   vreinterpretq_f32_f64(vtrn2q_f64(sum_a, sum_b)));
}

/// n_rows rows of one panel times n_tokens tokens, their sums in registers.
template <size_t n_tokens, size_t n_rows>
void multiply(const float* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  float32x4_t p[n_tokens][n_rows][2] = {};
  for (size_t c = 0; c < cols; c += kBlockColumns, w += kBlockFloats) {
#pragma GCC unroll 2
    for (size_t r = 0; r < n_rows; r += 2) __builtin_prefetch(w + kPrefetchFloats + r * kBlockColumns);
    float32x4_t low[n_rows], high[n_rows];
#pragma GCC unroll 4
    for (size_t r = 0; r < n_rows; ++r) {
      low[r] = vld1q_f32(w + r * kBlockColumns);
      high[r] = vld1q_f32(w + r * kBlockColumns + 4);
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < n_tokens; ++t) {
      const float32x4_t x_low = vld1q_f32(x + t * x_stride + c), x_high = vld1q_f32(x + t * x_stride + c + 4);
#pragma GCC unroll 4
      for (size_t r = 0; r < n_rows; ++r) {
        p[t][r][0] = vfmaq_f32(p[t][r][0], low[r], x_low);
        p[t][r][1] = vfmaq_f32(p[t][r][1], high[r], x_high);
      }
    }
  }
#pragma GCC unroll 4
  for (size_t t = 0; t < n_tokens; ++t) {
#pragma GCC unroll 2
    for (size_t r = 0; r < n_rows; r += 2) {
      const float32x4_t two = fold(p[t][r], p[t][r + 1]);
      vst1_f32(y + t * y_stride + r, vget_low_f32(vpaddq_f32(two, two)));
    }
  }
}

template <size_t n_tokens, size_t n_rows>
void multiply_panels(const float* w, const float* x, size_t x_stride, size_t cols, size_t panel_begin,
                     size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    for (size_t r = 0; r < kPanelRows; r += n_rows) {
      multiply<n_tokens, n_rows>(w + panel * kPanelRows * cols + r * kBlockColumns, x, x_stride, cols,
                                 y + panel * kPanelRows + r, y_stride);
    }
  }
}

}  // namespace

void matmul_f32_f32(const float* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (kPanelRows * cols * sizeof(float) + 1);
  for (size_t begin = panel_begin; begin < panel_end; begin += walk) {
    const size_t end = panel_end - begin < walk ? panel_end : begin + walk;
    const auto run = [&](auto multiply_tokens, size_t t) {
      multiply_tokens(w, x + t * x_stride, x_stride, cols, begin, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_panels<kTokens, 2>, t);
    for (; t + 2 <= batch; t += 2) run(multiply_panels<2, 4>, t);
    if (t < batch) run(multiply_panels<1, 4>, t);
  }
}

}  // namespace spiked::kernels::neon
