#include <cmath>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void column_product_f32(const float* w, size_t rows_padded, const float* x, size_t cols, size_t row_begin,
                        size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; ++r) y[r] = 0.0f;
  for (size_t k = 0; k < cols; ++k)
    for (size_t r = row_begin; r < row_end; ++r) y[r] = std::fma(x[k], w[k * rows_padded + r], y[r]);
}

}  // namespace spiked::kernels::scalar
