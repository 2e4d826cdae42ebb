#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums, of two rows at a time, fit the registers.
constexpr size_t kTokens = 3;

/// (p0 + p4) + (p2 + p6) and (p1 + p5) + (p3 + p7) of two rows, whose eight partial sums are two registers.
float32x4_t fold(const float32x4_t (&a)[2], const float32x4_t (&b)[2]) {
  const float64x2_t sum_a = vreinterpretq_f64_f32(vaddq_f32(a[0], a[1]));
  const float64x2_t sum_b = vreinterpretq_f64_f32(vaddq_f32(b[0], b[1]));
  return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(sum_a, sum_b)),
                   vreinterpretq_f32_f64(vtrn2q_f64(sum_a, sum_b)));
}

/// Four bytes to the tops of four lanes, zeros below: the weights times 2^24, which a conversion with 24 fraction bits undoes. Widening
/// twice before the conversion would take three instructions for eight weights, all on one pipe of a Cortex-A76.
constexpr uint8_t kTops[4][16] = {
    {255, 255, 255, 0, 255, 255, 255, 1, 255, 255, 255, 2, 255, 255, 255, 3},
    {255, 255, 255, 4, 255, 255, 255, 5, 255, 255, 255, 6, 255, 255, 255, 7},
    {255, 255, 255, 8, 255, 255, 255, 9, 255, 255, 255, 10, 255, 255, 255, 11},
    {255, 255, 255, 12, 255, 255, 255, 13, 255, 255, 255, 14, 255, 255, 255, 15}};

/// Keeps a constant in its register; the compiler would load it anew at every use.
uint8x16_t keep(uint8x16_t v) {
  asm("" : "+w"(v));
  return v;
}

/// n_rows rows of one panel times n_tokens tokens, their sums in registers.
template <size_t n_tokens, size_t n_rows>
void multiply(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t cols, float* y,
              size_t y_stride) {
  const uint8x16_t tops[4] = {keep(vld1q_u8(kTops[0])), keep(vld1q_u8(kTops[1])), keep(vld1q_u8(kTops[2])),
                              keep(vld1q_u8(kTops[3]))};
  float32x4_t p[n_tokens][n_rows][2] = {};
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
#pragma GCC unroll 2
    for (size_t r = 0; r < n_rows; r += 2) __builtin_prefetch(w + kPrefetchBytes + r * kPanelBytes);
#pragma GCC unroll 4
    for (size_t j = 0; j < kPanelBytes; j += 8) {
      float32x4_t low[n_rows], high[n_rows];
#pragma GCC unroll 4
      for (size_t r = 0; r < n_rows; ++r) {
        const int8x16_t bytes = vld1q_s8(w + r * kPanelBytes + j / 16 * 16);
        low[r] = vcvtq_n_f32_s32(vreinterpretq_s32_s8(vqtbl1q_s8(bytes, tops[j / 4 % 4])), 24);
        high[r] = vcvtq_n_f32_s32(vreinterpretq_s32_s8(vqtbl1q_s8(bytes, tops[j / 4 % 4 + 1])), 24);
      }
#pragma GCC unroll 4
      for (size_t t = 0; t < n_tokens; ++t) {
        const float* xt = x + t * x_stride + c + j;
        const float32x4_t x_low = vld1q_f32(xt), x_high = vld1q_f32(xt + 4);
#pragma GCC unroll 4
        for (size_t r = 0; r < n_rows; ++r) {
          p[t][r][0] = vfmaq_f32(p[t][r][0], low[r], x_low);
          p[t][r][1] = vfmaq_f32(p[t][r][1], high[r], x_high);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (size_t t = 0; t < n_tokens; ++t) {
#pragma GCC unroll 2
    for (size_t r = 0; r < n_rows; r += 2) {
      const float32x4_t two = fold(p[t][r], p[t][r + 1]);
      const float32x2_t sums = vget_low_f32(vpaddq_f32(two, two));
      vst1_f32(y + t * y_stride + r, vmul_f32(vld1_f32(scale + r), sums));
    }
  }
}

template <size_t n_tokens, size_t n_rows>
void multiply_panels(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t cols,
                     size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t row = panel_begin * kPanelRows; row < panel_end * kPanelRows; row += kPanelRows) {
    for (size_t r = 0; r < kPanelRows; r += n_rows) {
      multiply<n_tokens, n_rows>(w + row * cols + r * kPanelBytes, scale + row + r, x, x_stride, cols,
                                 y + row + r, y_stride);
    }
  }
}

}  // namespace

void matmul_i8_f32(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t batch,
                   size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (kPanelRows * cols + 1);
  for (size_t begin = panel_begin; begin < panel_end; begin += walk) {
    const size_t end = panel_end - begin < walk ? panel_end : begin + walk;
    const auto run = [&](auto multiply_tokens, size_t t) {
      multiply_tokens(w, scale, x + t * x_stride, x_stride, cols, begin, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_panels<kTokens, 2>, t);
    for (; t + 2 <= batch; t += 2) run(multiply_panels<2, 2>, t);
    if (t < batch) run(multiply_panels<1, 4>, t);
  }
}

}  // namespace spiked::kernels::neon
