#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon_dotprod {
namespace {

using layout::kT2BlockBytes;
using layout::kT2BlockColumns;

constexpr size_t kPlanes = 4;
/// Far enough ahead to hide memory, near enough to stay in L1.
constexpr size_t kPrefetchBytes = 2048;
/// Weights that all tokens walk before the next ones come from memory: they should stay in L2.
constexpr size_t kWalkBytes = 64 * 1024;
/// Rows and tokens whose sums fit the registers.
constexpr size_t kRows = 4, kTokens = 4;

int8x16_t masked(uint8x16_t v, uint8_t mask) { return vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8(mask))); }

/// sum_c u[c] * q[c] of one row and one token. Two planes stay where the mask leaves them, so their codes count 4 and 16 times (at most
/// 16 * 2 * 128 * 2^15 < 2^31): that saves two of three shifts.
int32_t dot(const uint8_t* w, const int8_t* q, size_t cols) {
  int32x4_t sum_1 = vdupq_n_s32(0), sum_4 = sum_1, sum_16 = sum_1;
  for (size_t c = 0; c < cols; c += kT2BlockColumns, w += kT2BlockBytes) {
    __builtin_prefetch(w + kPrefetchBytes);
#pragma GCC unroll 2
    for (size_t j = 0; j < kT2BlockBytes; j += 16) {
      const uint8x16_t v = vld1q_u8(w + j);
      const int8_t* at = q + c + j;
      sum_1 = vdotq_s32(sum_1, vreinterpretq_s8_u8(vshrq_n_u8(v, 6)), vld1q_s8(at));
      sum_16 = vdotq_s32(sum_16, masked(v, 0x30), vld1q_s8(at + 32));
      sum_4 = vdotq_s32(sum_4, masked(v, 0x0c), vld1q_s8(at + 64));
      sum_1 = vdotq_s32(sum_1, masked(v, 0x03), vld1q_s8(at + 96));
    }
  }
  return vaddvq_s32(sum_1) + vaddvq_s32(sum_4) / 4 + vaddvq_s32(sum_16) / 16;
}

/// n_rows and kTokens at once: the planes are taken apart once, and an activation is loaded once.
template <size_t n_rows>
void multiply(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  const size_t row_bytes = cols / kPlanes;
  const int8_t* qt[kTokens];
#pragma GCC unroll 4
  for (size_t t = 0; t < kTokens; ++t) qt[t] = q + t * q_stride;
  int32x4_t sums[n_rows][kTokens] = {};
  for (size_t at = 0; at < row_bytes; at += 16) {
    uint8x16_t v[n_rows];
#pragma GCC unroll 4
    for (size_t r = 0; r < n_rows; ++r) v[r] = vld1q_u8(w + r * row_bytes + at);
#pragma GCC unroll 4
    for (size_t plane = 0; plane < kPlanes; ++plane) {
      int8x16_t qs[kTokens];
#pragma GCC unroll 4
      for (size_t t = 0; t < kTokens; ++t) qs[t] = vld1q_s8(qt[t] + 32 * plane);
#pragma GCC unroll 4
      for (size_t r = 0; r < n_rows; ++r) {
        const int8x16_t codes = vreinterpretq_s8_u8(vshrq_n_u8(v[r], 6));
        v[r] = vshlq_n_u8(v[r], 2);
#pragma GCC unroll 4
        for (size_t t = 0; t < kTokens; ++t) sums[r][t] = vdotq_s32(sums[r][t], codes, qs[t]);
      }
    }
    // A block's second half follows its first, and the next block follows the planes of both.
    const size_t step = at % kT2BlockBytes == 0 ? 16 : kT2BlockColumns - 16;
#pragma GCC unroll 4
    for (size_t t = 0; t < kTokens; ++t) qt[t] += step;
  }
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t t = 0; t < kTokens; ++t)
      y[t * y_stride + r] = static_cast<float>(vaddvq_s32(sums[r][t]) - q_sum[t]) * y_scale[t];
  }
}

void multiply_token(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale, size_t,
                    size_t cols, size_t row_begin, size_t row_end, float* y, size_t) {
  for (size_t r = row_begin; r < row_end; ++r)
    y[r] = static_cast<float>(dot(w + r * (cols / kPlanes), q, cols) - *q_sum) * *y_scale;
}

void multiply_tokens(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                     size_t q_stride, size_t cols, size_t row_begin, size_t row_end, float* y,
                     size_t y_stride) {
  const auto run = [&](auto multiply_rows, size_t r) {
    multiply_rows(w + r * (cols / kPlanes), q, q_sum, y_scale, q_stride, cols, y + r, y_stride);
  };
  size_t r = row_begin;
  for (; r + kRows <= row_end; r += kRows) run(multiply<kRows>, r);
  for (; r < row_end; ++r) run(multiply<1>, r);
}

}  // namespace

void matmul_t2_i8(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                  size_t q_stride, size_t batch, size_t cols, size_t row_begin, size_t row_end, float* y,
                  size_t y_stride) {
  const size_t walk = kRows + kWalkBytes / (cols + 1) * kRows;
  for (size_t begin = row_begin; begin < row_end; begin += walk) {
    const size_t end = row_end - begin < walk ? row_end : begin + walk;
    const auto run = [&](auto rows_times, size_t t) {
      rows_times(w, q + t * q_stride, q_sum + t, y_scale + t, q_stride, cols, begin, end, y + t * y_stride,
                 y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_tokens, t);
    for (; t < batch; ++t) run(multiply_token, t);
  }
}

}  // namespace spiked::kernels::neon_dotprod
