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
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums fit the registers.
constexpr size_t kTokens = 4;

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  const int8_t* qt[n_tokens];
#pragma GCC unroll 4
  for (size_t t = 0; t < n_tokens; ++t) qt[t] = q + t * q_stride;
  int32x4_t p[n_tokens][kPanelRows] = {};
  for (size_t c = 0; c < cols; c += kPanelBytes) {
    __builtin_prefetch(w + kPrefetchBytes);
    __builtin_prefetch(w + kPrefetchBytes + 64);
    const int8x16x4_t rows01 = vld1q_s8_x4(w);
    w += 2 * kPanelBytes;
    const int8x16x4_t rows23 = vld1q_s8_x4(w);
    w += 2 * kPanelBytes;
#pragma GCC unroll 4
    for (size_t t = 0; t < n_tokens; ++t) {
      const int8x16x2_t qs = vld1q_s8_x2(qt[t]);
      qt[t] += kPanelBytes;
#pragma GCC unroll 2
      for (size_t j = 0; j < 2; ++j) {
        p[t][0] = vdotq_s32(p[t][0], rows01.val[j], qs.val[j]);
        p[t][1] = vdotq_s32(p[t][1], rows01.val[2 + j], qs.val[j]);
        p[t][2] = vdotq_s32(p[t][2], rows23.val[j], qs.val[j]);
        p[t][3] = vdotq_s32(p[t][3], rows23.val[2 + j], qs.val[j]);
      }
    }
  }
  const float32x4_t scales = vld1q_f32(scale);
#pragma GCC unroll 4
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
    for (; t + 2 <= batch; t += 2) run(multiply_panels<2>, t);
    if (t < batch) run(multiply_panels<1>, t);
  }
}

}  // namespace spiked::kernels::neon_dotprod
