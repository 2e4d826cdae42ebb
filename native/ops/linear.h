#pragma once
#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace spiked::ops {

/// Precision of the activations that a dense product takes. kI8 is the fast, inexact one.
enum class Activations : int32_t { kF32 = 0, kI8 = 1 };

/// y[t, r] = sum_c W[r, c] * x[t, c] for the rows of panels [panel_begin, panel_end) of a panel_4x32 matrix.
///
/// x  f32 [batch, x_stride], zero from W.cols to W.packed.cols; x_stride >= W.packed.cols
/// y  f32 [batch, y_stride], y_stride >= W.packed.rows
inline void linear(const kernels::Kernels& k, const Matrix& w, const float* x, size_t x_stride, size_t batch,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  if (panel_begin == panel_end) return;
  if (w.dtype == DType::kF32)
    k.matmul_f32_f32(static_cast<const float*>(w.data), x, x_stride, batch, w.packed.cols, panel_begin,
                     panel_end, y, y_stride);
  else
    k.matmul_i8_f32(static_cast<const int8_t*>(w.data), w.scale, x, x_stride, batch, w.packed.cols,
                    panel_begin, panel_end, y, y_stride);
}

/// Rows of x as int8 with a scale each; what matmul_i8_i8 takes.
///
/// q  int8 [batch, q_stride], scale  f32 [batch]
inline void quantize(const kernels::Kernels& k, const float* x, size_t x_stride, size_t batch, size_t n,
                     int8_t* q, size_t q_stride, float* scale) {
  for (size_t t = 0; t < batch; ++t) scale[t] = k.quantize_i8(x + t * x_stride, n, q + t * q_stride);
}

/// As linear, for an int8 matrix and quantised activations.
inline void linear_i8(const kernels::Kernels& k, const Matrix& w, const int8_t* q, const float* q_scale,
                      size_t q_stride, size_t batch, size_t panel_begin, size_t panel_end, float* y,
                      size_t y_stride) {
  if (panel_begin == panel_end) return;
  k.matmul_i8_i8(static_cast<const int8_t*>(w.data), w.scale, q, q_scale, q_stride, batch, w.packed.cols,
                 panel_begin, panel_end, y, y_stride);
}

/// y[r] = sum over the active columns of W[r, k], for r in [row_begin, row_end) of a column_major matrix (multiples of 64).
///
/// Only the active columns are read. y  f32 [W.packed.rows]
inline void column_sum(const kernels::Kernels& k, const Matrix& w, const uint32_t* active, size_t n_active,
                       size_t row_begin, size_t row_end, float* y) {
  if (row_begin == row_end) return;
  if (w.dtype == DType::kF32)
    k.column_sum_f32(static_cast<const float*>(w.data), w.packed.rows, active, n_active, row_begin, row_end,
                     y);
  else
    k.column_sum_i8(static_cast<const int8_t*>(w.data), w.scale, w.packed.rows, active, n_active, row_begin,
                    row_end, y);
}

}  // namespace spiked::ops
