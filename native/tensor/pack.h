#pragma once
#include "base/status.h"
#include "tensor/matrix.h"

namespace spiked {

/// Quantises (kI8: per-row absmax/127, round half to even, an all-zero row gets scale 1) and packs a row-major matrix.
///
/// w      f32 [rows, cols] row-major
/// out    packed_shape(layout, rows, cols).size_bytes(dtype) bytes, padding written as zero
/// scale  f32 [packed rows], padding written as zero; only for kI8
///
/// Errors: ERR_CHECKPOINT_TENSOR when a value is not finite (names row and column); ERR_INVALID_ARGUMENT for kI8 in row-major.
/// Source: docs/model-file.md, "INT8" and the layouts.
Status pack(DType dtype, Layout layout, const float* w, size_t rows, size_t cols, void* out, float* scale);

}  // namespace spiked
