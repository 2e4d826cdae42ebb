#pragma once
#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "kernels/layout.h"

namespace spiked {

/// Storage types of Linear weights; numbers are ggml's, but for kI4, which GGUF does not know: there it is I8 bytes. kT2 is I2_S there.
enum class DType : int32_t { kF32 = 0, kF16 = 1, kI8 = 24, kT2 = 36, kI4 = 1004 };
enum class Layout : int32_t { kRowMajor = 0, kPanel4x32 = 1, kColumnMajor = 2, kPanel4x32I4 = 3 };

/// Bytes of one element; kI4 and kT2 have none of their own (see PackedShape).
inline size_t dtype_bytes(DType t) { return t == DType::kF32 ? 4 : t == DType::kF16 ? 2 : 1; }
inline const char* dtype_name(DType t) {
  return t == DType::kF32 ? "F32" : t == DType::kF16 ? "F16" : t == DType::kT2 ? "I2_S" : "I8";
}
const char* layout_name(Layout layout);

/// Physical rows and columns of a packed [rows, cols] matrix (docs/model-file.md: R4, R64, C32).
struct PackedShape {
  size_t rows, cols;
  size_t size_bytes(DType t) const {
    if (t == DType::kI4) return rows / layout::kPanelRows * layout::i4_panel_bytes(cols);
    if (t == DType::kT2) return rows * cols / 4;
    return rows * cols * dtype_bytes(t);
  }
};
PackedShape packed_shape(Layout layout, size_t rows, size_t cols);

class RowFile;

/// A Linear weight [rows, cols] in the mapped file.
struct Matrix {
  DType dtype = DType::kF32;
  Layout layout = Layout::kRowMajor;
  size_t rows = 0, cols = 0;  ///< logical: out, in
  PackedShape packed{0, 0};
  const void* data = nullptr;
  const float* scale = nullptr;   ///< [packed.rows] for kI8, one for kT2, else null
  const RowFile* file = nullptr;  ///< where data is null: its rows, kF16, are read from there

  /// Bytes that a product with all columns must read at least: weights and scales, padding not counted.
  size_t logical_bytes() const {
    if (dtype == DType::kI4) return rows * ((cols + 1) / 2 + (cols + 31) / 32 * 2);
    if (dtype == DType::kT2) return rows * cols / 4 + sizeof(float);
    return cols * column_bytes() + scale_bytes();
  }
  /// Bytes of one input's weights, of F32 or I8.
  size_t column_bytes() const { return rows * dtype_bytes(dtype); }
  size_t scale_bytes() const { return dtype == DType::kI8 ? rows * sizeof(float) : 0; }

  /// Rows that a product computes together: the unit in which its rows are shared.
  size_t row_unit() const {
    return layout == Layout::kColumnMajor ? layout::kColumnRows : layout::kPanelRows;
  }
  size_t n_row_units() const { return packed.rows / row_unit(); }
};

/// What turns the last hidden state into logits: output, and a prior branch in one of its two forms, or none.
struct HeadWeights {
  Matrix output;                     ///< [V, D]
  Matrix prior_in, prior_out;        ///< [D/4, D], [V, D/4]; dynamic prior only, else no rows
  const float* log_prior = nullptr;  ///< [V]; a constant prior
  float prior_weight = 0;

  bool has_dynamic_prior() const { return prior_in.rows != 0; }
  bool has_prior() const { return log_prior != nullptr || has_dynamic_prior(); }
};

}  // namespace spiked
