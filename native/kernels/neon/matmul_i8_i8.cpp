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
/// Tokens whose sums fit the registers.
constexpr size_t kTokens = 2;

/// acc += the 16 products of w and q, four to an int32 lane; two products stay below 2 * 128 * 127 < 2^15.
int32x4_t multiply_add(int32x4_t acc, int8x16_t w, int8x16_t q) {
  const int16x8_t first = vmull_s8(vget_low_s8(w), vget_low_s8(q));
  return vpadalq_s16(acc, vmlal_high_s8(first, w, q));
}

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
        for (size_t t = 0; t < n_tokens; ++t) p[t][r] = multiply_add(p[t][r], ws, qs[t]);
      }
    }
  }
  const float32x4_t scales = vld1q_f32(scale);
  for (size_t t = 0; t < n_tokens; ++t) {
    const int32x4_t sums = vpaddq_s32(vpaddq_s32(p[t][0], p[t][1]), vpaddq_s32(p[t][2], p[t][3]));
    vst1q_f32(y + t * y_stride, vmulq_f32(vcvtq_f32_s32(sums), vmulq_f32(vdupq_n_f32(q_scale[t]), scales)));
  }
}

template <size_t n_tokens>
void multiply_panels(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale,
                     size_t q_stride, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                     size_t y_stride) {
  for (size_t row = panel_begin * kPanelRows; row < panel_end * kPanelRows; row += kPanelRows) {
    multiply<n_tokens>(w + row * cols, scale + row, q, q_scale, q_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i8_i8(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
                  size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                  size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (kPanelRows * cols + 1);
  for (size_t begin = panel_begin; begin < panel_end; begin += walk) {
    const size_t end = panel_end - begin < walk ? panel_end : begin + walk;
    const auto run = [&](auto multiply_tokens, size_t t) {
      multiply_tokens(w, scale, q + t * q_stride, q_scale + t, q_stride, cols, begin, end, y + t * y_stride,
                      y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_panels<kTokens>, t);
    if (t < batch) run(multiply_panels<1>, t);
  }
}

}  // namespace spiked::kernels::neon
