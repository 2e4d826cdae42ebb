#pragma once
#include "base/status.h"
#include "tensor/matrix.h"

namespace spiked {

/// Quantises and packs a row-major matrix. kI8: per-row absmax/127, round half to even, an all-zero row gets scale 1. kI4: per row and
/// group of 32 columns absmax/7 rounded to f16, 1 where that is 0.
///
/// w      f32 [rows, cols] row-major
/// out    packed_shape(layout, rows, cols).size_bytes(dtype) bytes, padding written as zero
/// scale  f32 [packed rows], padding written as zero; only for kI8
///
/// kI8 is never row-major; kI4 has panel_4x32_i4 and no other layout.
/// Errors: ERR_CHECKPOINT_TENSOR when a value is not finite, or too large for an f16 scale (names row and column).
/// Source: docs/model-file.md, "INT8", "INT4" and the layouts.
Status pack(DType dtype, Layout layout, const float* w, size_t rows, size_t cols, void* out, float* scale);

/// Index of element (r, c) in a packed stream of F32 or I8.
size_t packed_position(Layout layout, const PackedShape& p, size_t element_bytes, size_t r, size_t c);

/// Where element (row of the panel, column) of a panel_4x32_i4 panel and its scale are, in bytes from the panel's start.
struct I4Position {
  size_t byte;
  unsigned shift;  ///< 0 or 4: which nibble of the byte
  size_t scale_byte;
};
I4Position i4_position(size_t lane_row, size_t c);

}  // namespace spiked
