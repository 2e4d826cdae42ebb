#include "tensor/pack.h"

#include <cmath>
#include <cstring>

#include "base/half.h"

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

float group_scale(const float* group, size_t cols) {
  float absmax = 0.0f;
  for (size_t c = 0; c < cols; ++c) {
    const float a = std::fabs(group[c]);
    absmax = a > absmax ? a : absmax;
  }
  const float scale = half::to_f32(half::from_f32(absmax / 7.0f));
  return scale > 0.0f ? scale : 1.0f;
}

uint8_t quantize_i4(float w, float scale) {
  const float q = std::nearbyint(w / scale);
  return static_cast<uint8_t>(static_cast<int>(q > 7.0f ? 7.0f : q < -7.0f ? -7.0f : q) & 0xf);
}

Status pack_i4(const float* w, size_t rows, size_t cols, uint8_t* out) {
  const size_t panel_bytes = layout::i4_panel_bytes(round_up(cols, layout::kPanelColumns));
  for (size_t r = 0; r < rows; ++r) {
    uint8_t* panel = out + r / layout::kPanelRows * panel_bytes;
    for (size_t begin = 0; begin < cols; begin += layout::kGroupColumns) {
      const size_t n = cols - begin < layout::kGroupColumns ? cols - begin : layout::kGroupColumns;
      const float scale = group_scale(w + r * cols + begin, n);
      if (!std::isfinite(scale))
        return {Code::ERR_CHECKPOINT_TENSOR,
                format("expected weights of at most 458528 for INT4's f16 scales, found a larger one at row "
                       "%zu, columns %zu to %zu",
                       r, begin, begin + n - 1)};
      for (size_t c = begin; c < begin + n; ++c) {
        const I4Position at = i4_position(r % layout::kPanelRows, c);
        panel[at.byte] =
            static_cast<uint8_t>(panel[at.byte] | quantize_i4(w[r * cols + c], scale) << at.shift);
        const uint16_t stored = half::from_f32(scale);
        std::memcpy(panel + at.scale_byte, &stored, sizeof stored);
      }
    }
  }
  return {};
}

}  // namespace

size_t packed_position(Layout layout, const PackedShape& p, size_t element_bytes, size_t r, size_t c) {
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
    case Layout::kPanel4x32I4:
      break;
  }
  return r * p.cols + c;
}

I4Position i4_position(size_t lane_row, size_t c) {
  const size_t group = c / layout::kGroupColumns, in_group = c % layout::kGroupColumns;
  const size_t block = group / layout::kBlockGroups, in_block = group % layout::kBlockGroups;
  const size_t block_at = block * (layout::kGroupScaleBytes + layout::kBlockGroups * layout::kGroupBytes);
  const size_t lane = in_group % 4, nibble = in_group / 4;
  const size_t row_bytes = layout::kGroupBytes / layout::kPanelRows;
  return {block_at + layout::kGroupScaleBytes + in_block * layout::kGroupBytes + lane_row * row_bytes +
              lane * 4 + nibble / 2,
          nibble % 2 == 0 ? 0u : 4u,
          block_at + (in_block * layout::kPanelRows + lane_row) * sizeof(uint16_t)};
}

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kPanel4x32:
      return "panel_4x32";
    case Layout::kColumnMajor:
      return "column_major";
    case Layout::kPanel4x32I4:
      return "panel_4x32_i4";
    case Layout::kRowMajor:
      break;
  }
  return "row_major";
}

PackedShape packed_shape(Layout layout, size_t rows, size_t cols) {
  switch (layout) {
    case Layout::kPanel4x32:
    case Layout::kPanel4x32I4:
      return {round_up(rows, layout::kPanelRows), round_up(cols, layout::kPanelColumns)};
    case Layout::kColumnMajor:
      return {round_up(rows, layout::kColumnRows), cols};
    case Layout::kRowMajor:
      break;
  }
  return {rows, cols};
}

Status pack(DType dtype, Layout layout, const float* w, size_t rows, size_t cols, void* out, float* scale) {
  for (size_t i = 0; i < rows * cols; ++i)
    if (!std::isfinite(w[i]))
      return {Code::ERR_CHECKPOINT_TENSOR, format("expected finite weights, found %g at row %zu, column %zu",
                                                  static_cast<double>(w[i]), i / cols, i % cols)};
  const PackedShape p = packed_shape(layout, rows, cols);
  std::memset(out, 0, p.size_bytes(dtype));
  if (dtype == DType::kI4) return pack_i4(w, rows, cols, static_cast<uint8_t*>(out));
  if (dtype == DType::kI8)
    for (size_t r = 0; r < p.rows; ++r) scale[r] = r < rows ? row_scale(w + r * cols, cols) : 0.0f;
  // Columns outside so that a column-major output is written as one stream; panels are cheap either way.
  const size_t element_bytes = dtype_bytes(dtype);
  const bool by_column = layout == Layout::kColumnMajor;
  const size_t n_outer = by_column ? cols : rows, n_inner = by_column ? rows : cols;
  for (size_t outer = 0; outer < n_outer; ++outer) {
    for (size_t inner = 0; inner < n_inner; ++inner) {
      const size_t r = by_column ? inner : outer, c = by_column ? outer : inner;
      const size_t at = packed_position(layout, p, element_bytes, r, c);
      if (dtype == DType::kF32)
        static_cast<float*>(out)[at] = w[r * cols + c];
      else
        static_cast<int8_t*>(out)[at] = quantize(w[r * cols + c], scale[r]);
    }
  }
  return {};
}

}  // namespace spiked
