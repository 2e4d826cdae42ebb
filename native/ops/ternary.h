#pragma once
#include <algorithm>

#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace spiked::ops {

/// Rows of activations as a ternary product takes them; the buffers are the caller's. One set serves every product with the same input.
///
/// q  int8 [batch, stride], stride % 32 == 0, rows aligned 32
struct TernaryRows {
  int8_t* q;
  kernels::TernaryRow* rows;  ///< [batch]
  int32_t* sums;              ///< [batch] of each row's codes
  float* y_scale;             ///< [batch] scratch of linear
  size_t stride;
};

/// Quantises n values of x into row t.
inline void quantize(const kernels::Kernels& k, bool half_away, const float* x, size_t n, size_t t,
                     const TernaryRows& out) {
  int8_t* q = out.q + t * out.stride;
  out.rows[t] = half_away ? k.quantize_ternary_half_away(x, n, q) : k.quantize_ternary(x, n, q);
  out.sums[t] = out.rows[t].sum;
}

/// y[t, r] = (D - S) * (rho / s) over the rows of units [unit_begin, unit_end) (Matrix::row_unit) of a kT2 matrix, with rho its scale, s row t's
/// multiplier, D and S the exact sums (docs/numerics.md, "Ternary products"). A row whose multiplier is 0 gives 0.
///
/// y  f32 [batch, y_stride]
inline void linear(const kernels::Kernels& k, const Matrix& w, const TernaryRows& x, size_t batch,
                   size_t unit_begin, size_t unit_end, float* y, size_t y_stride) {
  if (unit_begin == unit_end) return;
  for (size_t t = 0; t < batch; ++t) {
    const float multiplier = x.rows[t].multiplier;
    x.y_scale[t] = multiplier == 0.0f ? 0.0f : *w.scale / multiplier;
  }
  k.matmul_t2_i8(static_cast<const uint8_t*>(w.data), x.q, x.sums, x.y_scale, x.stride, batch, w.cols,
                 unit_begin * w.row_unit(), std::min(unit_end * w.row_unit(), w.rows), y, y_stride);
}

}  // namespace spiked::ops
