#include <cmath>

#include "base/half.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void matmul_f16_f32(const uint16_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t row_begin, size_t row_end, float* y, size_t y_stride) {
  for (size_t r = row_begin; r < row_end; ++r) {
    for (size_t t = 0; t < batch; ++t) {
      float p[8] = {};
      for (size_t c = 0; c < cols; ++c)
        p[c % 8] = std::fma(half::to_f32(w[r * cols + c]), x[t * x_stride + c], p[c % 8]);
      y[t * y_stride + r] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
  }
}

}  // namespace spiked::kernels::scalar
