#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Rows walked at once: one alone would wait for the latency of its two FMA chains.
constexpr size_t kRows = 4;
/// Tokens whose sums fit the registers beside four rows'.
constexpr size_t kTokens = 2;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;

/// The tree of docs/numerics.md.
float tree(const float32x4_t (&p)[2]) {
  const float32x4_t s = vaddq_f32(p[0], p[1]);
  const float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
  return vget_lane_f32(t, 0) + vget_lane_f32(t, 1);
}

template <size_t n_rows, size_t n_tokens>
void multiply(const uint16_t* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  float32x4_t p[n_rows][n_tokens][2] = {};
  for (size_t c = 0; c < cols; c += 8) {
    float32x4_t xs[n_tokens][2];
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) {
      xs[t][0] = vld1q_f32(x + t * x_stride + c);
      xs[t][1] = vld1q_f32(x + t * x_stride + c + 4);
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < n_rows; ++r) {
      const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(w + r * cols + c));
      const float32x4_t low = vcvt_f32_f16(vget_low_f16(half)), high = vcvt_high_f32_f16(half);
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) {
        p[r][t][0] = vfmaq_f32(p[r][t][0], low, xs[t][0]);
        p[r][t][1] = vfmaq_f32(p[r][t][1], high, xs[t][1]);
      }
    }
  }
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t t = 0; t < n_tokens; ++t) y[t * y_stride + r] = tree(p[r][t]);
  }
}

template <size_t n_tokens>
void multiply_rows(const uint16_t* w, const float* x, size_t x_stride, size_t cols, size_t row_begin,
                   size_t row_end, float* y, size_t y_stride) {
  size_t r = row_begin;
  for (; r + kRows <= row_end; r += kRows)
    multiply<kRows, n_tokens>(w + r * cols, x, x_stride, cols, y + r, y_stride);
  for (; r < row_end; ++r) multiply<1, n_tokens>(w + r * cols, x, x_stride, cols, y + r, y_stride);
}

}  // namespace

void matmul_f16_f32(const uint16_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t row_begin, size_t row_end, float* y, size_t y_stride) {
  const size_t walk = kRows + kWalkBytes / (kRows * cols * sizeof *w + 1) * kRows;
  for (size_t begin = row_begin; begin < row_end; begin += walk) {
    const size_t end = row_end - begin < walk ? row_end : begin + walk;
    const auto run = [&](auto rows_times, size_t t) {
      rows_times(w, x + t * x_stride, x_stride, cols, begin, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_rows<kTokens>, t);
    if (t < batch) run(multiply_rows<1>, t);
  }
}

}  // namespace spiked::kernels::neon
