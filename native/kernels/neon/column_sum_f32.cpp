#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Columns added to the sums in one visit: as many read streams, a quarter of the sums' traffic.
constexpr size_t kColumns = 4;
constexpr size_t kLineFloats = 16;

/// y += the n columns in order; each output has one accumulator and takes them one at a time.
template <size_t n>
void add_columns(const float* const (&columns)[kColumns], const float* const (&next)[kColumns],
                 size_t row_begin, size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += kLineFloats) {
    // Active columns lie apart, so only we know what comes next.
    for (size_t i = 0; i < kColumns; ++i) __builtin_prefetch(next[i] + r);
    float32x4_t sums[4];
    for (size_t k = 0; k < 4; ++k) sums[k] = vld1q_f32(y + r + 4 * k);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < 4; ++k) sums[k] = vaddq_f32(sums[k], vld1q_f32(columns[i] + r + 4 * k));
    }
    for (size_t k = 0; k < 4; ++k) vst1q_f32(y + r + 4 * k, sums[k]);
  }
}

}  // namespace

void column_sum_f32(const float* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                    size_t row_begin, size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += 4) vst1q_f32(y + r, vdupq_n_f32(0.0f));
  const float* columns[kColumns];
  const float* next[kColumns];
  for (size_t i = 0; i < n_active; i += kColumns) {
    const size_t n = n_active - i < kColumns ? n_active - i : kColumns;
    for (size_t k = 0; k < kColumns; ++k) {
      columns[k] = w + active[i + (k < n ? k : 0)] * rows_padded;
      next[k] = i + kColumns + k < n_active ? w + active[i + kColumns + k] * rows_padded : columns[k];
    }
    switch (n) {
      case 4:
        add_columns<4>(columns, next, row_begin, row_end, y);
        break;
      case 3:
        add_columns<3>(columns, next, row_begin, row_end, y);
        break;
      case 2:
        add_columns<2>(columns, next, row_begin, row_end, y);
        break;
      default:
        add_columns<1>(columns, next, row_begin, row_end, y);
        break;
    }
  }
}

}  // namespace spiked::kernels::neon
