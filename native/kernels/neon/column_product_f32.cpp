#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Columns walked side by side: each is a long stream, and the sums in L1 are loaded and stored a quarter as often.
constexpr size_t kColumns = 4;

template <size_t n_columns>
void add_columns(const float* w, size_t rows_padded, const float* x, size_t row_begin, size_t row_end,
                 float* y) {
  float32x4_t xs[n_columns];
  for (size_t k = 0; k < n_columns; ++k) xs[k] = vdupq_n_f32(x[k]);
  const float* columns[n_columns];
  for (size_t k = 0; k < n_columns; ++k) columns[k] = w + k * rows_padded;
  for (size_t begin = row_begin; begin < row_end; begin += 16) {
#pragma GCC unroll 4
    for (size_t r = begin; r < begin + 16; r += 4) {
      float32x4_t sum = vld1q_f32(y + r);
#pragma GCC unroll 4
      for (size_t k = 0; k < n_columns; ++k) sum = vfmaq_f32(sum, xs[k], vld1q_f32(columns[k] + r));
      vst1q_f32(y + r, sum);
    }
  }
}

}  // namespace

void column_product_f32(const float* w, size_t rows_padded, const float* x, size_t cols, size_t row_begin,
                        size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += 4) vst1q_f32(y + r, vdupq_n_f32(0.0f));
  size_t k = 0;
  for (; k + kColumns <= cols; k += kColumns) {
    add_columns<kColumns>(w + k * rows_padded, rows_padded, x + k, row_begin, row_end, y);
  }
  for (; k < cols; ++k) add_columns<1>(w + k * rows_padded, rows_padded, x + k, row_begin, row_end, y);
}

}  // namespace spiked::kernels::neon
