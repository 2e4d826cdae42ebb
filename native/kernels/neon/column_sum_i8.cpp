#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Columns added in int16 before they widen to int32: 8 * 128 is far below 2^15, and eight streams still prefetch well.
constexpr size_t kColumns = 8;
/// Rows of one visit: their int32 sums take 4 KiB of L1.
constexpr size_t kRows = 1024;

/// acc[r] += columns[0][r] + ... + columns[n - 1][r] for n <= kColumns.
void add_columns(const int8_t* const (&columns)[kColumns], size_t n, const int8_t* const (&next)[kColumns],
                 size_t n_rows, int32_t* acc) {
  for (size_t r = 0; r < n_rows; r += 64) {
    // Active columns lie apart, so only we know what comes next.
    for (size_t i = 0; i < kColumns; ++i) __builtin_prefetch(next[i] + r);
    int16x8_t sums[8];
    for (int16x8_t& s : sums) s = vdupq_n_s16(0);
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
      for (size_t k = 0; k < 4; ++k) {
        const int8x16_t w = vld1q_s8(columns[i] + r + 16 * k);
        sums[2 * k] = vaddw_s8(sums[2 * k], vget_low_s8(w));
        sums[2 * k + 1] = vaddw_high_s8(sums[2 * k + 1], w);
      }
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      int32_t* a = acc + r + 8 * k;
      vst1q_s32(a, vaddw_s16(vld1q_s32(a), vget_low_s16(sums[k])));
      vst1q_s32(a + 4, vaddw_high_s16(vld1q_s32(a + 4), sums[k]));
    }
  }
}

}  // namespace

void column_sum_i8(const int8_t* w, const float* scale, size_t rows_padded, const uint32_t* active,
                   size_t n_active, size_t row_begin, size_t row_end, float* y) {
  int32_t acc[kRows];
  const int8_t* columns[kColumns];
  const int8_t* next[kColumns];
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    const size_t n_rows = row_end - begin < kRows ? row_end - begin : kRows;
    for (size_t r = 0; r < n_rows; r += 4) vst1q_s32(acc + r, vdupq_n_s32(0));
    for (size_t i = 0; i < n_active; i += kColumns) {
      const size_t n = n_active - i < kColumns ? n_active - i : kColumns;
      for (size_t k = 0; k < kColumns; ++k) {
        columns[k] = w + active[i + (k < n ? k : 0)] * rows_padded + begin;
        next[k] =
            i + kColumns + k < n_active ? w + active[i + kColumns + k] * rows_padded + begin : columns[k];
      }
      add_columns(columns, n, next, n_rows, acc);
    }
    for (size_t r = 0; r < n_rows; r += 4) {
      const float32x4_t sum = vcvtq_f32_s32(vld1q_s32(acc + r));
      vst1q_f32(y + begin + r, vmulq_f32(vld1q_f32(scale + begin + r), sum));
    }
  }
}

}  // namespace spiked::kernels::neon
