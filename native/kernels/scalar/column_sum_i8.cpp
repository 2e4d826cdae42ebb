#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void column_sum_i8(const int8_t* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                   size_t row_begin, size_t row_end, int32_t* sums) {
  for (size_t r = row_begin; r < row_end; ++r) sums[r] = 0;
  for (size_t i = 0; i < n_active; ++i) {
    const int8_t* column = w + active[i] * rows_padded;
    for (size_t r = row_begin; r < row_end; ++r) sums[r] += column[r];
  }
}

}  // namespace spiked::kernels::scalar
