#include "tensor/pack.h"

#include <cmath>
#include <cstring>

namespace spiked {
namespace {

float row_scale(const float* row, size_t cols) {
  float absmax = 0.0f;
  for (size_t c = 0; c < cols; ++c) {
    const float a = std::fabs(row[c]);
    absmax = a > absmax ? a : absmax;
  }
  const float scale = absmax / 127.0f;
  // absmax below 127 denormal steps underflows to 0: such a row holds nothing that INT8 could keep.
  return scale > 0.0f ? scale : 1.0f;
}

int8_t quantize(float w, float scale) {
  const float q = std::nearbyint(w / scale);  // the default rounding mode is half to even
  return static_cast<int8_t>(q > 127.0f ? 127.0f : q < -127.0f ? -127.0f : q);
}

// Index of element (r, c) in the packed stream.
size_t position(Layout layout, const PackedShape& p, size_t element_bytes, size_t r, size_t c) {
  switch (layout) {
    case Layout::kPanel4x32: {
      const size_t chunk = layout::kPanelBytes / element_bytes;
      const size_t panel = r / layout::kPanelRows, lane = r % layout::kPanelRows;
      return panel * layout::kPanelRows * p.cols + (c / chunk) * chunk * layout::kPanelRows + lane * chunk +
             c % chunk;
    }
    case Layout::kColumnMajor:
      return c * p.rows + r;
    case Layout::kRowMajor:
      break;
  }
  return r * p.cols + c;
}

}  // namespace

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kPanel4x32:
      return "panel_4x32";
    case Layout::kColumnMajor:
      return "column_major";
    case Layout::kRowMajor:
      break;
  }
  return "row_major";
}

PackedShape packed_shape(Layout layout, size_t rows, size_t cols) {
  switch (layout) {
    case Layout::kPanel4x32:
      return {round_up(rows, layout::kPanelRows), round_up(cols, layout::kPanelColumns)};
    case Layout::kColumnMajor:
      return {round_up(rows, layout::kColumnRows), cols};
    case Layout::kRowMajor:
      break;
  }
  return {rows, cols};
}

Status pack(DType dtype, Layout layout, const float* w, size_t rows, size_t cols, void* out, float* scale) {
  if (dtype == DType::kI8 && layout == Layout::kRowMajor)
    return {Code::ERR_INVALID_ARGUMENT, "pack: expected a packed layout for I8, found row_major"};
  for (size_t i = 0; i < rows * cols; ++i)
    if (!std::isfinite(w[i]))
      return {Code::ERR_CHECKPOINT_TENSOR, format("expected finite weights, found %g at row %zu, column %zu",
                                                  static_cast<double>(w[i]), i / cols, i % cols)};
  const PackedShape p = packed_shape(layout, rows, cols);
  std::memset(out, 0, p.size_bytes(dtype));
  if (dtype == DType::kI8)
    for (size_t r = 0; r < p.rows; ++r) scale[r] = r < rows ? row_scale(w + r * cols, cols) : 0.0f;
  // Columns outside so that a column-major output is written as one stream; panels are cheap either way.
  const size_t element_bytes = dtype_bytes(dtype);
  const bool by_column = layout == Layout::kColumnMajor;
  const size_t n_outer = by_column ? cols : rows, n_inner = by_column ? rows : cols;
  for (size_t outer = 0; outer < n_outer; ++outer) {
    for (size_t inner = 0; inner < n_inner; ++inner) {
      const size_t r = by_column ? inner : outer, c = by_column ? outer : inner;
      const size_t at = position(layout, p, element_bytes, r, c);
      if (dtype == DType::kF32)
        static_cast<float*>(out)[at] = w[r * cols + c];
      else
        static_cast<int8_t*>(out)[at] = quantize(w[r * cols + c], scale[r]);
    }
  }
  return {};
}

}  // namespace spiked
