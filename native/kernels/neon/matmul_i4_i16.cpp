#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

using layout::kBlockGroups;
using layout::kGroupBytes;
using layout::kGroupColumns;
using layout::kPanelRows;

constexpr size_t kScaleBytes = kPanelRows * sizeof(uint16_t);
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums fit the registers.
constexpr size_t kTokens = 2;

/// Byte b of the four lanes, then byte b + 1: four columns that follow each other.
constexpr uint8_t kTransposed[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

/// Columns 8b to 8b + 3 of a group for b = 0, 1 and b = 2, 3, and the same of columns 8b + 4 to 8b + 7.
struct Activations {
  int16x8_t even[2], odd[2];
};
int16x8_t first_halves(int16x8_t a, int16x8_t b) {
  return vreinterpretq_s16_s64(vtrn1q_s64(vreinterpretq_s64_s16(a), vreinterpretq_s64_s16(b)));
}
int16x8_t second_halves(int16x8_t a, int16x8_t b) {
  return vreinterpretq_s16_s64(vtrn2q_s64(vreinterpretq_s64_s16(a), vreinterpretq_s64_s16(b)));
}
Activations arrange(const int16_t* q) {
  const int16x8x4_t columns = vld1q_s16_x4(q);
  const int16x8_t a = columns.val[0], b = columns.val[1], c = columns.val[2], d = columns.val[3];
  return {{first_halves(a, b), first_halves(c, d)}, {second_halves(a, b), second_halves(c, d)}};
}

/// A row's nibbles in the same order.
struct Weights {
  int8x16_t even, odd;
};
Weights unpack(uint8x16_t row, uint8x16_t transposed) {
  const int8x16_t v = vreinterpretq_s8_u8(vqtbl1q_u8(row, transposed));
  return {vshrq_n_s8(vshlq_n_s8(v, 4), 4), vshrq_n_s8(v, 4)};
}

int32x4_t add(int32x4_t sum, int16x8_t w, int16x8_t q) {
  return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(w), vget_low_s16(q)), w, q);
}

/// A row's sums of eight columns a lane.
float32x4_t dot(const Weights& w, const Activations& x) {
  int32x4_t sum = vdupq_n_s32(0);
  sum = add(sum, vmovl_s8(vget_low_s8(w.even)), x.even[0]);
  sum = add(sum, vmovl_high_s8(w.even), x.even[1]);
  sum = add(sum, vmovl_s8(vget_low_s8(w.odd)), x.odd[0]);
  sum = add(sum, vmovl_high_s8(w.odd), x.odd[1]);
  return vcvtq_f32_s32(sum);
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
void multiply(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t cols,
              float* y, size_t y_stride) {
  float32x4_t p[n_tokens][kPanelRows];
  for (auto& token : p) {
    for (float32x4_t& row : token) row = vdupq_n_f32(0.0f);
  }
  const uint8x16_t transposed = vld1q_u8(kTransposed);
  for (size_t left = cols / kGroupColumns; left != 0;) {
    const size_t n_groups = left < kBlockGroups ? left : kBlockGroups;
    const uint8_t* scales = w;
    w += layout::kGroupScaleBytes;
    for (size_t g = 0; g < n_groups; ++g, q += kGroupColumns, scales += kScaleBytes, w += kGroupBytes) {
      __builtin_prefetch(w + kPrefetchBytes);
      const uint8x16x4_t rows = vld1q_u8_x4(w);
      Activations x[n_tokens];
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) x[t] = arrange(q + t * q_stride);
      float32x4_t sum[n_tokens][kPanelRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kPanelRows; ++r) {
        const Weights row = unpack(rows.val[r], transposed);
#pragma GCC unroll 2
        for (size_t t = 0; t < n_tokens; ++t) sum[t][r] = dot(row, x[t]);
      }
      const float32x4_t scale = load_scales(scales);
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) add_scaled(sum[t], scale, p[t]);
    }
    left -= n_groups;
  }
  for (size_t t = 0; t < n_tokens; ++t)
    vst1q_f32(y + t * y_stride, vmulq_n_f32(reduce_rows(p[t]), q_scale[t]));
}

template <size_t n_tokens>
void multiply_panels(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t cols,
                     size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    multiply<n_tokens>(w + panel * layout::i4_panel_bytes(cols), q, q_scale, q_stride, cols,
                       y + panel * kPanelRows, y_stride);
  }
}

}  // namespace

void matmul_i4_i16(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t batch,
                   size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (layout::i4_panel_bytes(cols) + 1);
  for (size_t begin = panel_begin; begin < panel_end; begin += walk) {
    const size_t end = panel_end - begin < walk ? panel_end : begin + walk;
    const auto run = [&](auto multiply_tokens, size_t t) {
      multiply_tokens(w, q + t * q_stride, q_scale + t, q_stride, cols, begin, end, y + t * y_stride,
                      y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_panels<kTokens>, t);
    if (t < batch) run(multiply_panels<1>, t);
  }
}

}  // namespace spiked::kernels::neon
