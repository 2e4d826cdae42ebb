#pragma once
#include <algorithm>

#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace spiked::ops {

/// Precision of the activations that a dense product takes. kF32 is the reference; kI16 and kI8 are quantised a row.
enum class Activations : int32_t { kF32 = 0, kI8 = 1, kI16 = 2 };

/// Rows of activations in kI8 or kI16 with a scale each; the buffers are the caller's, and only one of q8 and q16 is used.
///
/// q8, q16  [batch, stride], zero from the logical to the padded column, rows aligned 32; q16 in the kernels' i16_order
/// scale    f32 [batch]
struct QuantizedRows {
  Activations precision;
  int8_t* q8;
  int16_t* q16;
  float* scale;
  size_t stride;
};

/// Units of rows (Matrix::row_unit) that a worker takes of a product at once: each run is one stream of memory, so as long as can be,
/// and the least is what workers may differ by at the end (docs/experiments.md).
struct Runs {
  size_t least, most;
};

inline Runs runs(const Matrix& w) {
  constexpr size_t kLeastBytes = size_t{48} << 10, kMostBytes = size_t{1} << 20;
  const size_t unit_bytes = w.packed.size_bytes(w.dtype) / w.n_row_units();
  return {std::max<size_t>(1, kLeastBytes / unit_bytes), std::max<size_t>(1, kMostBytes / unit_bytes)};
}

/// Fills `rows` from x, f32 [batch, x_stride], n values a row.
inline void quantize(const kernels::Kernels& k, const float* x, size_t x_stride, size_t batch, size_t n,
                     const QuantizedRows& rows) {
  for (size_t t = 0; t < batch; ++t) {
    const float* from = x + t * x_stride;
    rows.scale[t] = rows.precision == Activations::kI8 ? k.quantize_i8(from, n, rows.q8 + t * rows.stride)
                                                       : k.quantize_i16(from, n, rows.q16 + t * rows.stride);
  }
}

/// y[t, r] = sum_c W[r, c] * x[t, c] for the rows of units [unit_begin, unit_end) (Matrix::row_unit): of panels in a panel matrix of
/// any type, of four rows in an f16 row_major one, of 64 rows in an f32 column_major one, which is there for comparing layouts.
///
/// x  f32 [batch, x_stride], zero from W.cols to W.packed.cols; x_stride >= W.packed.cols
/// y  f32 [batch, y_stride], y_stride >= W.packed.rows
inline void linear(const kernels::Kernels& k, const Matrix& w, const float* x, size_t x_stride, size_t batch,
                   size_t unit_begin, size_t unit_end, float* y, size_t y_stride) {
  if (unit_begin == unit_end) return;
  if (w.layout == Layout::kColumnMajor) {
    for (size_t t = 0; t < batch; ++t)
      k.column_product_f32(static_cast<const float*>(w.data), w.packed.rows, x + t * x_stride, w.cols,
                           unit_begin * layout::kColumnRows, unit_end * layout::kColumnRows,
                           y + t * y_stride);
    return;
  }
  switch (w.dtype) {
    case DType::kF32:
      return k.matmul_f32_f32(static_cast<const float*>(w.data), x, x_stride, batch, w.packed.cols,
                              unit_begin, unit_end, y, y_stride);
    case DType::kI8:
      return k.matmul_i8_f32(static_cast<const int8_t*>(w.data), w.scale, x, x_stride, batch, w.packed.cols,
                             unit_begin, unit_end, y, y_stride);
    case DType::kF16:
      return k.matmul_f16_f32(static_cast<const uint16_t*>(w.data), x, x_stride, batch, w.cols,
                              unit_begin * w.row_unit(), std::min(unit_end * w.row_unit(), w.rows), y,
                              y_stride);
    case DType::kT2:  // takes ternary rows (ops/ternary.h)
      return;
    case DType::kI4:
      return k.matmul_i4_f32(static_cast<const uint8_t*>(w.data), x, x_stride, batch, w.packed.cols,
                             unit_begin, unit_end, y, y_stride);
  }
}

/// As above with quantised activations; W is a panel matrix of kI8 or kI4.
inline void linear(const kernels::Kernels& k, const Matrix& w, const QuantizedRows& x, size_t batch,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  if (panel_begin == panel_end) return;
  const size_t cols = w.packed.cols;
  const bool i8 = x.precision == Activations::kI8;
  if (w.dtype == DType::kI4) {
    const auto* data = static_cast<const uint8_t*>(w.data);
    if (i8)
      k.matmul_i4_i8(data, x.q8, x.scale, x.stride, batch, cols, panel_begin, panel_end, y, y_stride);
    else
      k.matmul_i4_i16(data, x.q16, x.scale, x.stride, batch, cols, panel_begin, panel_end, y, y_stride);
    return;
  }
  const auto* data = static_cast<const int8_t*>(w.data);
  if (i8)
    k.matmul_i8_i8(data, w.scale, x.q8, x.scale, x.stride, batch, cols, panel_begin, panel_end, y, y_stride);
  else
    k.matmul_i8_i16(data, w.scale, x.q16, x.scale, x.stride, batch, cols, panel_begin, panel_end, y,
                    y_stride);
}

/// Scratch of spike_sum: int32 [W.packed.rows] for integer sums; f32 [W.packed.cols], aligned 64, for spikes as 1 and 0.
struct SpikeWork {
  int32_t* sums;
  float* ones;
};

/// Whether sums over active inputs are exact integers, so that workers may share the columns out instead of the rows. Columns read whole are
/// longer runs of memory.
inline bool exact_sums(const Matrix& w) { return w.layout == Layout::kColumnMajor && w.dtype == DType::kI8; }

/// sums[r] = sum of the integers of W[r, k] over the active columns, for all rows of a matrix with exact_sums.
///
/// sums  int32 [W.packed.rows]
inline void column_sums(const kernels::Kernels& k, const Matrix& w, const uint32_t* active, size_t n_active,
                        int32_t* sums) {
  k.column_sum_i8(static_cast<const int8_t*>(w.data), w.packed.rows, active, n_active, 0, w.packed.rows,
                  sums);
}

/// y[r] = what n_parts column_sums of disjoint columns add up to, scaled, for r in [begin, end).
///
/// parts  int32 [n_parts, stride]
inline void scale_sums(const kernels::Kernels& k, const Matrix& w, const int32_t* parts, size_t stride,
                       size_t n_parts, size_t begin, size_t end, float* y) {
  k.scale_sums(parts, stride, n_parts, w.scale, begin, end, y);
}

/// y[r] = sum over the active inputs of W[r, k], for the rows of units [unit_begin, unit_end) (Matrix::row_unit).
///
/// A column_major matrix reads its active columns only; an f32 panel matrix, there for comparing layouts, is multiplied by 1 and 0.
/// y     f32 [W.packed.rows]
inline void spike_sum(const kernels::Kernels& k, const Matrix& w, const uint32_t* active, size_t n_active,
                      size_t unit_begin, size_t unit_end, const SpikeWork& work, float* y) {
  if (unit_begin == unit_end) return;
  const size_t begin = unit_begin * layout::kColumnRows, end = unit_end * layout::kColumnRows;
  if (exact_sums(w)) {
    k.column_sum_i8(static_cast<const int8_t*>(w.data), w.packed.rows, active, n_active, begin, end,
                    work.sums);
    return k.scale_sums(work.sums, 0, 1, w.scale, begin, end, y);
  }
  if (w.layout == Layout::kColumnMajor)
    return k.column_sum_f32(static_cast<const float*>(w.data), w.packed.rows, active, n_active, begin, end,
                            y);
  float* ones = work.ones;
  for (size_t c = 0; c < w.packed.cols; ++c) ones[c] = 0.0f;
  for (size_t i = 0; i < n_active; ++i) ones[active[i]] = 1.0f;
  linear(k, w, ones, w.packed.cols, 1, unit_begin, unit_end, y, w.packed.rows);
}

}  // namespace spiked::ops
