#include <cmath>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::scalar {

using layout::kPanelRows;

void matmul_i8_f32(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t batch,
                   size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  constexpr size_t kBlockColumns = layout::kPanelBytes;
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const int8_t* rows = w + panel * kPanelRows * cols;
    for (size_t t = 0; t < batch; ++t) {
      float p[kPanelRows][8] = {};
      const int8_t* block = rows;
      for (size_t c = 0; c < cols; c += kBlockColumns) {
        const float* xc = x + t * x_stride + c;
        for (size_t r = 0; r < kPanelRows; ++r) {
          for (size_t i = 0; i < kBlockColumns; ++i) {
            p[r][i % 8] = std::fma(static_cast<float>(block[r * kBlockColumns + i]), xc[i], p[r][i % 8]);
          }
        }
        block += kPanelRows * kBlockColumns;
      }
      for (size_t r = 0; r < kPanelRows; ++r) {
        const float* q = p[r];
        const float sum = ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7]));
        y[t * y_stride + panel * kPanelRows + r] = scale[panel * kPanelRows + r] * sum;
      }
    }
  }
}

}  // namespace spiked::kernels::scalar
