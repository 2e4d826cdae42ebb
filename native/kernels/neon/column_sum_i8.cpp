#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Columns added in int16 before they widen to int32: 255 * 128 < 2^15.
constexpr size_t kGroup = 255;
/// Rows of one visit: their int16 and int32 sums take 12 KiB of L1.
constexpr size_t kRows = 2048;
/// Active columns lie apart, so only we know what comes next: the line this far ahead in the walk is fetched into L2, which
/// has room for more fetches under way than L1.
constexpr size_t kPrefetchBytes = 4096;
constexpr size_t kLineBytes = 64;

void add_column(const int8_t* column, const int8_t* next, size_t n_rows, int16_t* sums) {
  for (size_t r = 0; r < n_rows; r += kLineBytes) {
    __builtin_prefetch(next + r, 0, 2);
#pragma GCC unroll 4
    for (size_t k = r; k < r + kLineBytes; k += 16) {
      const int8x16_t w = vld1q_s8(column + k);
      vst1q_s16(sums + k, vaddw_s8(vld1q_s16(sums + k), vget_low_s8(w)));
      vst1q_s16(sums + k + 8, vaddw_high_s8(vld1q_s16(sums + k + 8), w));
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
  int32_t totals[kRows];
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    const size_t n_rows = row_end - begin < kRows ? row_end - begin : kRows;
    for (size_t r = 0; r < n_rows; r += 4) {
      vst1_s16(sums + r, vdup_n_s16(0));
      vst1q_s32(totals + r, vdupq_n_s32(0));
    }
    const size_t ahead = (kPrefetchBytes + n_rows - 1) / n_rows;
    size_t in_group = 0;
    // One column after the other keeps one stream on the bus; the sums stay in L1.
    for (size_t i = 0; i < n_active; ++i) {
      const size_t next = i + ahead < n_active ? i + ahead : i;
      add_column(w + active[i] * rows_padded + begin, w + active[next] * rows_padded + begin, n_rows, sums);
      if (++in_group == kGroup) {
        widen(sums, totals, n_rows);
        in_group = 0;
      }
    }
    widen(sums, totals, n_rows);
    for (size_t r = 0; r < n_rows; r += 4) vst1q_s32(out + begin + r, vld1q_s32(totals + r));
  }
}

}  // namespace spiked::kernels::neon
