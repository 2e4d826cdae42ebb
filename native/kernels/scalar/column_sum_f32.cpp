#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void column_sum_f32(const float* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                    size_t row_begin, size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; ++r) y[r] = 0.0f;
  for (size_t i = 0; i < n_active; ++i) {
    const float* column = w + active[i] * rows_padded;
    for (size_t r = row_begin; r < row_end; ++r) y[r] = y[r] + column[r];
  }
}

}  // namespace spiked::kernels::scalar
