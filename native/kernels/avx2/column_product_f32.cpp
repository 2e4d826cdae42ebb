#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Columns walked side by side: each is a long stream, and the sums in L1 are loaded and stored a quarter as often.
constexpr size_t kColumns = 4;

template <size_t n_columns>
void add_columns(const float* w, size_t rows_padded, const float* x, size_t row_begin, size_t row_end,
                 float* y) {
  __m256 xs[n_columns];
  for (size_t k = 0; k < n_columns; ++k) xs[k] = _mm256_set1_ps(x[k]);
  for (size_t r = row_begin; r < row_end; r += 8) {
    __m256 sum = _mm256_loadu_ps(y + r);
    for (size_t k = 0; k < n_columns; ++k)
      sum = _mm256_fmadd_ps(xs[k], _mm256_loadu_ps(w + k * rows_padded + r), sum);
    _mm256_storeu_ps(y + r, sum);
  }
}

}  // namespace

void column_product_f32(const float* w, size_t rows_padded, const float* x, size_t cols, size_t row_begin,
                        size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += 8) _mm256_storeu_ps(y + r, _mm256_setzero_ps());
  size_t k = 0;
  for (; k + kColumns <= cols; k += kColumns) {
    add_columns<kColumns>(w + k * rows_padded, rows_padded, x + k, row_begin, row_end, y);
  }
  for (; k < cols; ++k) add_columns<1>(w + k * rows_padded, rows_padded, x + k, row_begin, row_end, y);
}

}  // namespace spiked::kernels::avx2
