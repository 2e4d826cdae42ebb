#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Columns added in int16 before they widen to int32: 252 * 128 < 2^15.
constexpr size_t kGroup = 252;
/// Rows of one visit: their int16 and int32 sums take 12 KiB of L1.
constexpr size_t kRows = 2048;
/// Active columns lie apart, so only we know what comes next: the line this far ahead in the walk is fetched into L2, which
/// has room for more fetches under way than L1.
constexpr size_t kPrefetchBytes = 4096;
constexpr size_t kLineBytes = 64;
/// Columns added at once: the sums in L1 are loaded and stored a quarter as often.
constexpr size_t kColumns = 4;

/// sums += the columns of `active`; meanwhile those of `next` are fetched, in the order of memory.
template <size_t n_columns>
void add_columns(const int8_t* w, size_t rows_padded, const uint32_t* active, const uint32_t* next,
                 size_t n_rows, int16_t* sums) {
  const int8_t* columns[n_columns];
  for (size_t i = 0; i < n_columns; ++i) columns[i] = w + active[i] * rows_padded;
  const size_t step = (n_rows / kLineBytes + n_columns - 1) / n_columns * kLineBytes;
  for (size_t j = 0, r = 0; j < n_columns; ++j) {
    const int8_t* ahead = w + next[j] * rows_padded;
    for (const size_t end = n_rows - r < step ? n_rows : r + step; r < end;
         r += kLineBytes, ahead += n_columns * kLineBytes) {
#pragma GCC unroll 4
      for (size_t i = 0; i < n_columns; ++i) __builtin_prefetch(ahead + i * kLineBytes, 0, 2);
#pragma GCC unroll 4
      for (size_t k = r; k < r + kLineBytes; k += 16) {
        int16x8_t low = vld1q_s16(sums + k), high = vld1q_s16(sums + k + 8);
#pragma GCC unroll 4
        for (size_t i = 0; i < n_columns; ++i) {
          const int8x16_t column = vld1q_s8(columns[i] + k);
          low = vaddw_s8(low, vget_low_s8(column));
          high = vaddw_high_s8(high, column);
        }
        vst1q_s16(sums + k, low);
        vst1q_s16(sums + k + 8, high);
      }
    }
  }
}

/// totals += sums; sums = 0.
void widen(int16_t* sums, int32_t* totals, size_t n_rows) {
  for (size_t r = 0; r < n_rows; r += 8) {
    const int16x8_t group = vld1q_s16(sums + r);
    vst1q_s32(totals + r, vaddw_s16(vld1q_s32(totals + r), vget_low_s16(group)));
    vst1q_s32(totals + r + 4, vaddw_high_s16(vld1q_s32(totals + r + 4), group));
    vst1q_s16(sums + r, vdupq_n_s16(0));
  }
}

}  // namespace

void column_sum_i8(const int8_t* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                   size_t row_begin, size_t row_end, int32_t* out) {
  int16_t sums[kRows];
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    const size_t n_rows = row_end - begin < kRows ? row_end - begin : kRows;
    int32_t* totals = out + begin;
    for (size_t r = 0; r < n_rows; r += 4) {
      vst1_s16(sums + r, vdup_n_s16(0));
      vst1q_s32(totals + r, vdupq_n_s32(0));
    }
    const size_t ahead = (kPrefetchBytes / (n_rows * kColumns) + 1) * kColumns;
    size_t in_group = 0, i = 0;
    for (; i + kColumns <= n_active; i += kColumns) {
      const size_t next = i + ahead + kColumns < n_active ? i + ahead : n_active - kColumns;
      add_columns<kColumns>(w + begin, rows_padded, active + i, active + next, n_rows, sums);
      if ((in_group += kColumns) == kGroup) {
        widen(sums, totals, n_rows);
        in_group = 0;
      }
    }
    for (; i < n_active; ++i) add_columns<1>(w + begin, rows_padded, active + i, active + i, n_rows, sums);
    widen(sums, totals, n_rows);
  }
}

}  // namespace spiked::kernels::neon
