#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Active columns lie apart, so only we know what comes next: the line this far ahead in the walk is fetched into L2, which
/// has room for more fetches under way than L1.
constexpr size_t kPrefetchFloats = 1024;
constexpr size_t kLineFloats = 16;
/// Columns added at once: the sums in L1 are loaded and stored a quarter as often.
constexpr size_t kColumns = 4;

/// sums += the columns of `active`, in order; meanwhile those of `next` are fetched, in the order of memory.
template <size_t n_columns>
void add_columns(const float* w, size_t rows_padded, const uint32_t* active, const uint32_t* next,
                 size_t n_rows, float* sums) {
  const float* columns[n_columns];
  for (size_t i = 0; i < n_columns; ++i) columns[i] = w + active[i] * rows_padded;
  const size_t step = (n_rows / kLineFloats + n_columns - 1) / n_columns * kLineFloats;
  for (size_t j = 0, r = 0; j < n_columns; ++j) {
    const float* ahead = w + next[j] * rows_padded;
    for (const size_t end = n_rows - r < step ? n_rows : r + step; r < end;
         r += kLineFloats, ahead += n_columns * kLineFloats) {
#pragma GCC unroll 4
      for (size_t i = 0; i < n_columns; ++i) __builtin_prefetch(ahead + i * kLineFloats, 0, 2);
      float32x4x4_t sum = vld1q_f32_x4(sums + r);
#pragma GCC unroll 4
      for (size_t i = 0; i < n_columns; ++i) {
        const float32x4x4_t column = vld1q_f32_x4(columns[i] + r);
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) sum.val[k] = vaddq_f32(sum.val[k], column.val[k]);
      }
      vst1q_f32_x4(sums + r, sum);
    }
  }
}

}  // namespace

void column_sum_f32(const float* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                    size_t row_begin, size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += 4) vst1q_f32(y + r, vdupq_n_f32(0.0f));
  if (row_begin == row_end) return;
  w += row_begin;
  y += row_begin;
  const size_t n_rows = row_end - row_begin;
  const size_t ahead = (kPrefetchFloats / (n_rows * kColumns) + 1) * kColumns;
  size_t i = 0;
  for (; i + kColumns <= n_active; i += kColumns) {
    const size_t next = i + ahead + kColumns < n_active ? i + ahead : n_active - kColumns;
    add_columns<kColumns>(w, rows_padded, active + i, active + next, n_rows, y);
  }
  for (; i < n_active; ++i) add_columns<1>(w, rows_padded, active + i, active + i, n_rows, y);
}

}  // namespace spiked::kernels::neon
