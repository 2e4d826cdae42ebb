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
constexpr size_t kBlockBytes = layout::kGroupScaleBytes + kBlockGroups * kGroupBytes;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens that share the unpacking of a row's weights.
constexpr size_t kTokens = 4;

/// Byte b of four lanes to the tops of four lanes, zeros below: nibbles in the byte's upper half times 2^28, which a conversion with 28
/// fraction bits undoes.
constexpr uint8_t kTops[4][16] = {{255, 255, 255, 0, 255, 255, 255, 4, 255, 255, 255, 8, 255, 255, 255, 12},
                                  {255, 255, 255, 1, 255, 255, 255, 5, 255, 255, 255, 9, 255, 255, 255, 13},
                                  {255, 255, 255, 2, 255, 255, 255, 6, 255, 255, 255, 10, 255, 255, 255, 14},
                                  {255, 255, 255, 3, 255, 255, 255, 7, 255, 255, 255, 11, 255, 255, 255, 15}};

/// The tables above, kept in registers; the compiler would load them anew at every use.
struct Tops {
  uint8x16_t of[4];
};
Tops load_tops() {
  Tops tops;
#pragma GCC unroll 4
  for (size_t b = 0; b < 4; ++b) {
    tops.of[b] = vld1q_u8(kTops[b]);
    asm("" : "+w"(tops.of[b]));
  }
  return tops;
}

/// A row's 32 weights of a group as f32, four columns a register.
struct Weights {
  float32x4_t columns[8];
};
Weights unpack(uint8x16_t row, const Tops& tops) {
  const uint8x16_t even = vshlq_n_u8(row, 4), odd = vandq_u8(row, vdupq_n_u8(0xf0));
  Weights w;
#pragma GCC unroll 4
  for (size_t b = 0; b < 4; ++b) {
    w.columns[2 * b] = vcvtq_n_f32_s32(vreinterpretq_s32_u8(vqtbl1q_u8(even, tops.of[b])), 28);
    w.columns[2 * b + 1] = vcvtq_n_f32_s32(vreinterpretq_s32_u8(vqtbl1q_u8(odd, tops.of[b])), 28);
  }
  return w;
}

/// A row's sums of eight columns a lane, ascending.
float32x4_t dot(const Weights& w, const float* x) {
  float32x4_t sum = vdupq_n_f32(0.0f);
#pragma GCC unroll 8
  for (size_t b = 0; b < 8; ++b) sum = vfmaq_f32(sum, w.columns[b], vld1q_f32(x + 4 * b));
  return sum;
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

/// One panel times one token.
void multiply_one(const uint8_t* w, const float* x, size_t cols, float* y) {
  const Tops tops = load_tops();
  float32x4_t p[kPanelRows] = {};
  for (size_t left = cols / kGroupColumns; left != 0;) {
    const size_t n_groups = left < kBlockGroups ? left : kBlockGroups;
    const uint8_t* scales = w;
    w += layout::kGroupScaleBytes;
    for (size_t g = 0; g < n_groups; ++g, x += kGroupColumns, scales += kScaleBytes, w += kGroupBytes) {
      __builtin_prefetch(w + kPrefetchBytes);
      float32x4_t sum[kPanelRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kPanelRows; ++r) sum[r] = dot(unpack(vld1q_u8(w + r * kRowBytes), tops), x);
      add_scaled(sum, load_scales(scales), p);
    }
    left -= n_groups;
  }
  vst1q_f32(y, reduce_rows(p));
}

/// One row of a panel, whose first bytes w and scales point to, times n_tokens tokens.
template <size_t n_tokens>
void multiply_row(const uint8_t* w, const uint8_t* scales, const float* x, size_t x_stride, size_t cols,
                  float* y, size_t y_stride) {
  const Tops tops = load_tops();
  float32x4_t p[n_tokens] = {};
  for (size_t left = cols / kGroupColumns; left != 0;) {
    const size_t n_groups = left < kBlockGroups ? left : kBlockGroups;
    for (size_t g = 0; g < n_groups; ++g, x += kGroupColumns) {
      const Weights ws = unpack(vld1q_u8(w + g * kGroupBytes), tops);
      uint16_t bits;
      __builtin_memcpy(&bits, scales + g * kScaleBytes, sizeof bits);
      const float32x4_t scale = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits)));
#pragma GCC unroll 4
      for (size_t t = 0; t < n_tokens; ++t) p[t] = vfmaq_f32(p[t], dot(ws, x + t * x_stride), scale);
    }
    w += kBlockBytes;
    scales += kBlockBytes;
    left -= n_groups;
  }
#pragma GCC unroll 4
  for (size_t t = 0; t < n_tokens; ++t) {
    const float32x2_t two = vadd_f32(vget_low_f32(p[t]), vget_high_f32(p[t]));
    y[t * y_stride] = vget_lane_f32(vpadd_f32(two, two), 0);
  }
}

void multiply_panels_one(const uint8_t* w, const float* x, size_t, size_t cols, size_t panel_begin,
                         size_t panel_end, float* y, size_t) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply_one(w + panel * layout::i4_panel_bytes(cols), x, cols, y + panel * kPanelRows);
}

template <size_t n_tokens>
void multiply_panels(const uint8_t* w, const float* x, size_t x_stride, size_t cols, size_t panel_begin,
                     size_t panel_end, float* y, size_t y_stride) {
  for (size_t row = panel_begin * kPanelRows; row < panel_end * kPanelRows; ++row) {
    const uint8_t* panel = w + row / kPanelRows * layout::i4_panel_bytes(cols);
    const size_t r = row % kPanelRows;
    multiply_row<n_tokens>(panel + layout::kGroupScaleBytes + r * kRowBytes, panel + r * sizeof(uint16_t), x,
                           x_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i4_f32(const uint8_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (layout::i4_panel_bytes(cols) + 1);
  for (size_t begin = panel_begin; begin < panel_end; begin += walk) {
    const size_t end = panel_end - begin < walk ? panel_end : begin + walk;
    const auto run = [&](auto multiply_tokens, size_t t) {
      multiply_tokens(w, x + t * x_stride, x_stride, cols, begin, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_panels<kTokens>, t);
    for (; t + 2 <= batch; t += 2) run(multiply_panels<2>, t);
    if (t < batch) run(multiply_panels_one, t);
  }
}

}  // namespace spiked::kernels::neon
