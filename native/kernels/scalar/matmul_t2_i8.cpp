#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void matmul_t2_i8(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                  size_t q_stride, size_t batch, size_t cols, size_t row_begin, size_t row_end, float* y,
                  size_t y_stride) {
  for (size_t r = row_begin; r < row_end; ++r) {
    const uint8_t* row = w + r * (cols / 4);
    for (size_t t = 0; t < batch; ++t) {
      const int8_t* x = q + t * q_stride;
      int32_t sum = 0;
      for (size_t c = 0; c < cols; ++c) sum += layout::t2_code(row, c) * x[c];
      y[t * y_stride + r] = static_cast<float>(sum - q_sum[t]) * y_scale[t];
    }
  }
}

}  // namespace spiked::kernels::scalar
