#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

using layout::kT2BlockBytes;
using layout::kT2BlockColumns;

constexpr size_t kPlanes = 4;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Tokens whose sums fit the registers.
constexpr size_t kTokens = 4;
/// A block adds 2 * 4 products of at most 2 * 128 to a lane of each half: fifteen stay below 2^15.
constexpr size_t kRunColumns = 15 * kT2BlockColumns;

/// One row and n_tokens: the planes are taken apart once.
template <size_t n_tokens>
void multiply(const uint8_t* w, const int8_t* q, size_t q_stride, size_t cols, int32_t (&dots)[n_tokens]) {
  const uint8x16_t mask = vdupq_n_u8(3);
  int32x4_t sums[n_tokens] = {};
  for (size_t c = 0; c < cols;) {
    const size_t end = cols - c < kRunColumns ? cols : c + kRunColumns;
    int16x8_t low[n_tokens] = {}, high[n_tokens] = {};
    for (; c < end; c += kT2BlockColumns, w += kT2BlockBytes) {
      __builtin_prefetch(w + kPrefetchBytes);
#pragma GCC unroll 2
      for (size_t j = 0; j < kT2BlockBytes; j += 16) {
        const uint8x16_t v = vld1q_u8(w + j);
        const int8x16_t planes[kPlanes] = {
            vreinterpretq_s8_u8(vshrq_n_u8(v, 6)), vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(v, 4), mask)),
            vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(v, 2), mask)), vreinterpretq_s8_u8(vandq_u8(v, mask))};
#pragma GCC unroll 4
        for (size_t t = 0; t < n_tokens; ++t) {
#pragma GCC unroll 4
          for (size_t plane = 0; plane < kPlanes; ++plane) {
            const int8x16_t qs = vld1q_s8(q + t * q_stride + c + 32 * plane + j);
            low[t] = vmlal_s8(low[t], vget_low_s8(planes[plane]), vget_low_s8(qs));
            high[t] = vmlal_high_s8(high[t], planes[plane], qs);
          }
        }
      }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < n_tokens; ++t) sums[t] = vpadalq_s16(vpadalq_s16(sums[t], low[t]), high[t]);
  }
  for (size_t t = 0; t < n_tokens; ++t) dots[t] = vaddvq_s32(sums[t]);
}

template <size_t n_tokens>
void multiply_rows(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                   size_t q_stride, size_t cols, size_t row_begin, size_t row_end, float* y,
                   size_t y_stride) {
  for (size_t r = row_begin; r < row_end; ++r) {
    int32_t dots[n_tokens];
    multiply<n_tokens>(w + r * (cols / kPlanes), q, q_stride, cols, dots);
    for (size_t t = 0; t < n_tokens; ++t)
      y[t * y_stride + r] = static_cast<float>(dots[t] - q_sum[t]) * y_scale[t];
  }
}

}  // namespace

void matmul_t2_i8(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                  size_t q_stride, size_t batch, size_t cols, size_t row_begin, size_t row_end, float* y,
                  size_t y_stride) {
  const size_t walk = 1 + kWalkBytes / (cols / kPlanes + 1);
  for (size_t begin = row_begin; begin < row_end; begin += walk) {
    const size_t end = row_end - begin < walk ? row_end : begin + walk;
    const auto run = [&](auto rows_times, size_t t) {
      rows_times(w, q + t * q_stride, q_sum + t, y_scale + t, q_stride, cols, begin, end, y + t * y_stride,
                 y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_rows<kTokens>, t);
    for (; t < batch; ++t) run(multiply_rows<1>, t);
  }
}

}  // namespace spiked::kernels::neon
