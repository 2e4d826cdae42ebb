#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::scalar {

using layout::kGroupColumns;
using layout::kPanelRows;

void matmul_i4_f32(const uint8_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  constexpr size_t kRowBytes = layout::kGroupBytes / kPanelRows;
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const uint8_t* blocks = w + panel * layout::i4_panel_bytes(cols);
    for (size_t t = 0; t < batch; ++t) {
      for (size_t r = 0; r < kPanelRows; ++r) {
        float p[4] = {};
        for (size_t g = 0; g < cols / kGroupColumns; ++g) {
          const uint8_t* row = blocks + layout::i4_group_at(g) + r * kRowBytes;
          const float* xg = x + t * x_stride + g * kGroupColumns;
          float sum[4] = {};
          for (size_t c = 0; c < kGroupColumns; ++c)
            sum[c % 4] = std::fma(static_cast<float>(layout::i4_weight(row, c)), xg[c], sum[c % 4]);
          uint16_t scale;
          std::memcpy(&scale, blocks + layout::i4_scales_at(g) + r * sizeof scale, sizeof scale);
          for (size_t l = 0; l < 4; ++l) p[l] = std::fma(sum[l], half::to_f32(scale), p[l]);
        }
        y[t * y_stride + panel * kPanelRows + r] = (p[0] + p[2]) + (p[1] + p[3]);
      }
    }
  }
}

}  // namespace spiked::kernels::scalar
