#include <cmath>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::scalar {

using layout::kPanelRows;

void matmul_f32_f32(const float* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  constexpr size_t kBlockColumns = layout::kPanelBytes / sizeof(float);
  static_assert(kBlockColumns == 8, "one block column is one partial sum");
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const float* rows = w + panel * kPanelRows * cols;
    for (size_t t = 0; t < batch; ++t) {
      float p[kPanelRows][8] = {};
      const float* block = rows;
      for (size_t c = 0; c < cols; c += kBlockColumns) {
        for (size_t r = 0; r < kPanelRows; ++r) {
          for (size_t j = 0; j < 8; ++j)
            p[r][j] = std::fma(block[r * 8 + j], x[t * x_stride + c + j], p[r][j]);
        }
        block += kPanelRows * kBlockColumns;
      }
      for (size_t r = 0; r < kPanelRows; ++r) {
        const float* q = p[r];
        y[t * y_stride + panel * kPanelRows + r] =
            ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7]));
      }
    }
  }
}

}  // namespace spiked::kernels::scalar
