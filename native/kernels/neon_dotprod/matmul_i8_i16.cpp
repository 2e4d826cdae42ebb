#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon_dotprod {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
static_assert(layout::kPlaneColumns == kPanelBytes);
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums fit the registers.
constexpr size_t kTokens = 2;

/// f32(sum) * (q_scale * scale) of four rows; through f64, which holds every sum exactly.
float32x4_t finish(const int64x2_t (&sum)[kPanelRows / 2], float q_scale, const float* scale) {
  const float32x4_t rounded = vcvt_high_f32_f64(vcvt_f32_f64(vcvtq_f64_s64(sum[0])), vcvtq_f64_s64(sum[1]));
  return vmulq_f32(rounded, vmulq_f32(vdupq_n_f32(q_scale), vld1q_f32(scale)));
}

/// A lane of each plane's sums takes a quarter of the columns: 128 * 128 * 2^15 < 2^31.
template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  const int8_t* planes[n_tokens];
#pragma GCC unroll 2
  for (size_t t = 0; t < n_tokens; ++t) planes[t] = reinterpret_cast<const int8_t*>(q + t * q_stride);
  int32x4_t high[n_tokens][kPanelRows] = {}, low[n_tokens][kPanelRows] = {};
  for (size_t c = 0; c < cols; c += kPanelBytes) {
    __builtin_prefetch(w + kPrefetchBytes);
    __builtin_prefetch(w + kPrefetchBytes + 64);
    const int8x16x4_t rows01 = vld1q_s8_x4(w);
    w += 2 * kPanelBytes;
    const int8x16x4_t rows23 = vld1q_s8_x4(w);
    w += 2 * kPanelBytes;
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) {
      // The high bytes of 32 columns, then the low ones.
      const int8x16x4_t qs = vld1q_s8_x4(planes[t]);
      planes[t] += 2 * kPanelBytes;
#pragma GCC unroll 2
      for (size_t j = 0; j < 2; ++j) {
        high[t][0] = vdotq_s32(high[t][0], rows01.val[j], qs.val[j]);
        high[t][1] = vdotq_s32(high[t][1], rows01.val[2 + j], qs.val[j]);
        high[t][2] = vdotq_s32(high[t][2], rows23.val[j], qs.val[j]);
        high[t][3] = vdotq_s32(high[t][3], rows23.val[2 + j], qs.val[j]);
        low[t][0] = vdotq_s32(low[t][0], rows01.val[j], qs.val[2 + j]);
        low[t][1] = vdotq_s32(low[t][1], rows01.val[2 + j], qs.val[2 + j]);
        low[t][2] = vdotq_s32(low[t][2], rows23.val[j], qs.val[2 + j]);
        low[t][3] = vdotq_s32(low[t][3], rows23.val[2 + j], qs.val[2 + j]);
      }
    }
  }
#pragma GCC unroll 2
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

template <size_t n_tokens>
void multiply_panels(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                     size_t q_stride, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                     size_t y_stride) {
  for (size_t row = panel_begin * kPanelRows; row < panel_end * kPanelRows; row += kPanelRows) {
    multiply<n_tokens>(w + row * cols, scale + row, q, q_scale, q_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i8_i16(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                   size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
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

}  // namespace spiked::kernels::neon_dotprod
