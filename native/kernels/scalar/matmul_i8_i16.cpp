#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::scalar {

using layout::kPanelBytes;
using layout::kPanelRows;

void matmul_i8_i16(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                   size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                   size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    for (size_t t = 0; t < batch; ++t) {
      for (size_t r = 0; r < kPanelRows; ++r) {
        const int8_t* row = w + panel * kPanelRows * cols + r * kPanelBytes;
        int64_t sum = 0;
        for (size_t c = 0; c < cols; ++c) {
          sum += row[c / kPanelBytes * kPanelRows * kPanelBytes + c % kPanelBytes] * q[t * q_stride + c];
        }
        const size_t out = panel * kPanelRows + r;
        y[t * y_stride + out] = static_cast<float>(sum) * (q_scale[t] * scale[out]);
      }
    }
  }
}

}  // namespace spiked::kernels::scalar
