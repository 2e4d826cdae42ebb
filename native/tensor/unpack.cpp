#include "tensor/unpack.h"

#include <cstring>

#include "base/half.h"
#include "tensor/pack.h"

namespace spiked {
namespace {

void unpack_i4_row(const Matrix& w, size_t r, double* out) {
  const auto* panel =
      static_cast<const uint8_t*>(w.data) + r / layout::kPanelRows * layout::i4_panel_bytes(w.packed.cols);
  const size_t lane_row = r % layout::kPanelRows;
  for (size_t c = 0; c < w.cols; ++c) {
    const I4Position at = i4_position(lane_row, c);
    uint16_t scale;
    std::memcpy(&scale, panel + at.scale_byte, sizeof scale);
    const int nibble = (panel[at.byte] >> at.shift) & 0xf;
    out[c] =
        static_cast<double>(nibble >= 8 ? nibble - 16 : nibble) * static_cast<double>(half::to_f32(scale));
  }
}

}  // namespace

void unpack_row(const Matrix& w, size_t r, double* out) {
  if (w.dtype == DType::kI4) return unpack_i4_row(w, r, out);
  if (w.dtype == DType::kF16) {
    const auto* row = static_cast<const uint16_t*>(w.data) + r * w.packed.cols;
    for (size_t c = 0; c < w.cols; ++c) out[c] = static_cast<double>(half::to_f32(row[c]));
    return;
  }
  for (size_t c = 0; c < w.cols; ++c) {
    const size_t at = packed_position(w.layout, w.packed, dtype_bytes(w.dtype), r, c);
    out[c] = w.dtype == DType::kF32 ? static_cast<double>(static_cast<const float*>(w.data)[at])
                                    : static_cast<double>(static_cast<const int8_t*>(w.data)[at]) *
                                          static_cast<double>(w.scale[r]);
  }
}

}  // namespace spiked
