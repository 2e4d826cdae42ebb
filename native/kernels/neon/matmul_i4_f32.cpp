#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

using layout::kBlockGroups;
using layout::kGroupBytes;
using layout::kGroupColumns;
using layout::kPanelRows;

constexpr size_t kRowBytes = kGroupBytes / kPanelRows;
constexpr size_t kScaleBytes = kPanelRows * sizeof(uint16_t);
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Activations of the tokens walked per panel: they should stay in L2 beside the panel.
constexpr size_t kTokenBlockBytes = 128 * 1024;
constexpr size_t kTokens = 2;

/// The upper two bytes of f32(q) by the nibble of q; the lower two are zero. Two look-ups and a shift instead of four shifts, four
/// conversions: look-ups have both vector pipes of a Cortex-A76, conversions one.
constexpr uint8_t kLow[16] = {0x00, 0x80, 0x00, 0x40, 0x80, 0xa0, 0xc0, 0xe0,
                              0x00, 0xe0, 0xc0, 0xa0, 0x80, 0x40, 0x00, 0x80};
constexpr uint8_t kHigh[16] = {0x00, 0x3f, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40,
                               0xc1, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xbf};
/// Byte b of the four lanes, then byte b + 1: four columns that follow each other.
constexpr uint8_t kTransposed[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

/// Half of a row's weights as f32: nibbles 2b (or 2b + 1) of its lanes, out[b] for columns 8b (or 8b + 4) to + 3.
void to_float(uint8x16_t nibbles, uint8x16_t low, uint8x16_t high, float32x4_t (&out)[4]) {
  const uint8x16_t l = vqtbl1q_u8(low, nibbles), h = vqtbl1q_u8(high, nibbles);
  const uint16x8_t first = vreinterpretq_u16_u8(vzip1q_u8(l, h)),
                   second = vreinterpretq_u16_u8(vzip2q_u8(l, h));
  out[0] = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(first), 16));
  out[1] = vreinterpretq_f32_u32(vshll_high_n_u16(first, 16));
  out[2] = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(second), 16));
  out[3] = vreinterpretq_f32_u32(vshll_high_n_u16(second, 16));
}

/// One group's scales of four rows.
float32x4_t load_scales(const uint8_t* at) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(at))); }

/// p[r] = fma(sum[r], scale[r], p[r]).
void add_scaled(const float32x4_t (&sum)[kPanelRows], float32x4_t scale, float32x4_t (&p)[kPanelRows]) {
  p[0] = vfmaq_laneq_f32(p[0], sum[0], scale, 0);
  p[1] = vfmaq_laneq_f32(p[1], sum[1], scale, 1);
  p[2] = vfmaq_laneq_f32(p[2], sum[2], scale, 2);
  p[3] = vfmaq_laneq_f32(p[3], sum[3], scale, 3);
}

/// (p0 + p2) + (p1 + p3) of four rows.
float32x4_t reduce_rows(const float32x4_t (&p)[kPanelRows]) {
  const float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(p[0], p[1]));
  const float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(p[2], p[3]));
  const float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(p[0], p[1]));
  const float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(p[2], p[3]));
  const float32x4_t c0 = vreinterpretq_f32_f64(vtrn1q_f64(even01, even23));
  const float32x4_t c1 = vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23));
  const float32x4_t c2 = vreinterpretq_f32_f64(vtrn2q_f64(even01, even23));
  const float32x4_t c3 = vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23));
  return vaddq_f32(vaddq_f32(c0, c2), vaddq_f32(c1, c3));
}

/// One panel times n_tokens tokens.
template <size_t n_tokens>
void multiply(const uint8_t* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  const uint8x16_t low = vld1q_u8(kLow), high = vld1q_u8(kHigh), transposed = vld1q_u8(kTransposed);
  float32x4_t p[n_tokens][kPanelRows];
  for (auto& token : p) {
    for (float32x4_t& row : token) row = vdupq_n_f32(0.0f);
  }
  const uint8_t* scales = w;
  const size_t n_groups = cols / kGroupColumns;
  for (size_t g = 0; g < n_groups; ++g, x += kGroupColumns, scales += kScaleBytes, w += kGroupBytes) {
    if (g % kBlockGroups == 0) {
      scales = w;
      w += layout::kGroupScaleBytes;
    }
    __builtin_prefetch(w + kPrefetchBytes);
    float32x4_t sum[n_tokens][kPanelRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kPanelRows; ++r) {
      const uint8x16_t v = vqtbl1q_u8(vld1q_u8(w + r * kRowBytes), transposed);
      float32x4_t even[4], odd[4];
      to_float(vandq_u8(v, vdupq_n_u8(0x0f)), low, high, even);
      to_float(vshrq_n_u8(v, 4), low, high, odd);
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) {
        sum[t][r] = vdupq_n_f32(0.0f);
#pragma GCC unroll 4
        for (size_t b = 0; b < 4; ++b) {
          sum[t][r] = vfmaq_f32(sum[t][r], even[b], vld1q_f32(x + t * x_stride + 8 * b));
          sum[t][r] = vfmaq_f32(sum[t][r], odd[b], vld1q_f32(x + t * x_stride + 8 * b + 4));
        }
      }
    }
    const float32x4_t scale = load_scales(scales);
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) add_scaled(sum[t], scale, p[t]);
  }
  for (size_t t = 0; t < n_tokens; ++t) vst1q_f32(y + t * y_stride, reduce_rows(p[t]));
}

void multiply_tokens(const uint8_t* w, const float* x, size_t x_stride, size_t n_tokens, size_t cols,
                     size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const uint8_t* wp = w + panel * layout::i4_panel_bytes(cols);
    float* yp = y + panel * kPanelRows;
    size_t t = 0;
    for (; t + kTokens <= n_tokens; t += kTokens) {
      multiply<kTokens>(wp, x + t * x_stride, x_stride, cols, yp + t * y_stride, y_stride);
    }
    if (t < n_tokens) multiply<1>(wp, x + t * x_stride, x_stride, cols, yp + t * y_stride, y_stride);
  }
}

}  // namespace

void matmul_i4_f32(const uint8_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
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
