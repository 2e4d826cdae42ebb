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
constexpr size_t kTokens = 4;

/// Byte 4g + i into the top byte of lane i of register g; the rest of the lane is zero.
struct Spread {
  uint8x16_t at[4];
};
Spread load_spread() {
  constexpr uint8_t z = 0xff;
  constexpr uint8_t kAt[4][16] = {{z, z, z, 0, z, z, z, 1, z, z, z, 2, z, z, z, 3},
                                  {z, z, z, 4, z, z, z, 5, z, z, z, 6, z, z, z, 7},
                                  {z, z, z, 8, z, z, z, 9, z, z, z, 10, z, z, z, 11},
                                  {z, z, z, 12, z, z, z, 13, z, z, z, 14, z, z, z, 15}};
  return {{vld1q_u8(kAt[0]), vld1q_u8(kAt[1]), vld1q_u8(kAt[2]), vld1q_u8(kAt[3])}};
}

/// Four weights as f32. In the top byte they are w * 2^24, and the conversion divides for nothing: one look-up instead of two widenings,
/// which have but one vector pipe of a Cortex-A76.
float32x4_t to_float(int8x16_t w, uint8x16_t at) {
  return vcvtq_n_f32_s32(vreinterpretq_s32_s8(vqtbl1q_s8(w, at)), 24);
}

/// (p0 + p4) + (p2 + p6) and (p1 + p5) + (p3 + p7) of two rows, whose eight partial sums are two registers.
float32x4_t fold(const float32x4_t (&a)[2], const float32x4_t (&b)[2]) {
  const float64x2_t sum_a = vreinterpretq_f64_f32(vaddq_f32(a[0], a[1]));
  const float64x2_t sum_b = vreinterpretq_f64_f32(vaddq_f32(b[0], b[1]));
  return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(sum_a, sum_b)),
                   vreinterpretq_f32_f64(vtrn2q_f64(sum_a, sum_b)));
}

/// n_rows rows of one panel times n_tokens tokens, their sums in registers.
template <size_t n_tokens, size_t n_rows>
void multiply(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t cols, float* y,
              size_t y_stride) {
  const Spread spread = load_spread();
  float32x4_t p[n_tokens][n_rows][2] = {};
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
    for (size_t r = 0; r < n_rows; r += 2) __builtin_prefetch(w + kPrefetchBytes + r * kPanelBytes);
#pragma GCC unroll 2
    for (size_t j = 0; j < kPanelBytes; j += 16) {
      int8x16_t ws[n_rows];
#pragma GCC unroll 4
      for (size_t r = 0; r < n_rows; ++r) ws[r] = vld1q_s8(w + r * kPanelBytes + j);
#pragma GCC unroll 4
      for (size_t g = 0; g < 4; ++g) {
        float32x4_t xs[n_tokens];
#pragma GCC unroll 4
        for (size_t t = 0; t < n_tokens; ++t) xs[t] = vld1q_f32(x + t * x_stride + c + j + 4 * g);
#pragma GCC unroll 4
        for (size_t r = 0; r < n_rows; ++r) {
          const float32x4_t four = to_float(ws[r], spread.at[g]);
#pragma GCC unroll 4
          for (size_t t = 0; t < n_tokens; ++t) p[t][r][g % 2] = vfmaq_f32(p[t][r][g % 2], four, xs[t]);
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
