#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::scalar {

void column_sum_i8(const int8_t* w, const float* scale, size_t rows_padded, const uint32_t* active,
                   size_t n_active, size_t row_begin, size_t row_end, float* y) {
  constexpr size_t kRows = layout::kColumnRows;
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    int32_t sum[kRows] = {};
    for (size_t i = 0; i < n_active; ++i) {
      const int8_t* column = w + active[i] * rows_padded + begin;
      for (size_t r = 0; r < kRows; ++r) sum[r] += column[r];
    }
    for (size_t r = 0; r < kRows; ++r) y[begin + r] = scale[begin + r] * static_cast<float>(sum[r]);
  }
}

}  // namespace spiked::kernels::scalar
