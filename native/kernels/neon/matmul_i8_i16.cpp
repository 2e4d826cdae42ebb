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
constexpr size_t kTokens = 4;
/// An int32 lane takes a quarter of these: 128 * 32639 * 512 < 2^31.
constexpr size_t kNarrowColumns = 2048;

/// acc += the 16 products of w and q, four to an int32 lane.
int32x4_t multiply_add(int32x4_t acc, int8x16_t w, int16x8_t q0, int16x8_t q1) {
  const int16x8_t low = vmovl_s8(vget_low_s8(w)), high = vmovl_high_s8(w);
  acc = vmlal_s16(acc, vget_low_s16(low), vget_low_s16(q0));
  acc = vmlal_high_s16(acc, low, q0);
  acc = vmlal_s16(acc, vget_low_s16(high), vget_low_s16(q1));
  return vmlal_high_s16(acc, high, q1);
}

/// f32(sum) * (q_scale * scale) of four rows; through f64, which holds every sum exactly.
float32x4_t finish(const int64x2_t (&sum)[kPanelRows / 2], float q_scale, const float* scale) {
  const float32x4_t rounded = vcvt_high_f32_f64(vcvt_f32_f64(vcvtq_f64_s64(sum[0])), vcvtq_f64_s64(sum[1]));
  return vmulq_f32(rounded, vmulq_f32(vdupq_n_f32(q_scale), vld1q_f32(scale)));
}

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  int64x2_t sum[n_tokens][kPanelRows / 2];
  for (auto& token : sum) token[0] = token[1] = vdupq_n_s64(0);
  for (size_t begin = 0; begin < cols; begin += kNarrowColumns) {
    const size_t end = cols - begin < kNarrowColumns ? cols : begin + kNarrowColumns;
    int32x4_t p[n_tokens][kPanelRows];
    for (auto& token : p) {
      for (int32x4_t& row : token) row = vdupq_n_s32(0);
    }
    for (size_t c = begin; c < end; c += kPanelBytes, w += kBlockBytes) {
      __builtin_prefetch(w + kPrefetchBytes);
      __builtin_prefetch(w + kPrefetchBytes + 64);
#pragma GCC unroll 2
      for (size_t j = 0; j < kPanelBytes; j += 16) {
        int16x8_t q0[n_tokens], q1[n_tokens];
#pragma GCC unroll 4
        for (size_t t = 0; t < n_tokens; ++t) {
          q0[t] = vld1q_s16(q + t * q_stride + c + j);
          q1[t] = vld1q_s16(q + t * q_stride + c + j + 8);
        }
#pragma GCC unroll 4
        for (size_t r = 0; r < kPanelRows; ++r) {
          const int8x16_t ws = vld1q_s8(w + r * kPanelBytes + j);
#pragma GCC unroll 4
          for (size_t t = 0; t < n_tokens; ++t) p[t][r] = multiply_add(p[t][r], ws, q0[t], q1[t]);
        }
      }
    }
    for (size_t t = 0; t < n_tokens; ++t) {
      for (size_t r = 0; r < kPanelRows; r += 2) {
        const int64x2_t two = vpaddq_s64(vpaddlq_s32(p[t][r]), vpaddlq_s32(p[t][r + 1]));
        sum[t][r / 2] = vaddq_s64(sum[t][r / 2], two);
      }
    }
  }
  for (size_t t = 0; t < n_tokens; ++t) vst1q_f32(y + t * y_stride, finish(sum[t], q_scale[t], scale));
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
    for (; t + 2 <= batch; t += 2) run(multiply_panels<2>, t);
    if (t < batch) run(multiply_panels<1>, t);
  }
}

}  // namespace spiked::kernels::neon
