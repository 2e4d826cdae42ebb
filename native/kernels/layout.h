#pragma once
#include <cstddef>
#include <cstdint>

/// The packed blocks that the exporter writes and every kernel reads (docs/model-file.md draws them).
namespace spiked::layout {

/// panel_4x32: kPanelRows rows interleaved in chunks of kPanelBytes bytes.
///
///   block b of panel p:  | row 4p, bytes 32b..32b+31 | row 4p+1 | row 4p+2 | row 4p+3 |   128 bytes, then block b+1
///
/// One stream per thread: four rows walked side by side in row-major order lose nearly half of the bus.
inline constexpr size_t kPanelRows = 4;
inline constexpr size_t kPanelBytes = 32;
/// Columns are padded to this for every type, so that one activation buffer fits all.
inline constexpr size_t kPanelColumns = 32;

/// panel_4x32_i4: the same panels of four rows with 4-bit weights and their scales in one stream.
///
///   block of up to 8 groups of 32 columns:  | f16 scale [8 groups][4 rows] | group 0: row 0 | row 1 | row 2 | row 3 | group 1 ...
///
/// 64 bytes of scales (also before fewer than 8 groups), then 64 bytes a group: 16 a row, four little-endian 32-bit lanes. Nibble
/// k (from the lowest) of lane l is column 4k + l of the group, two's complement in [-7, 7].
inline constexpr size_t kGroupColumns = 32;
inline constexpr size_t kBlockGroups = 8;
inline constexpr size_t kGroupBytes = 64;
inline constexpr size_t kGroupScaleBytes = 64;

/// Bytes of one panel_4x32_i4 panel of `cols` columns (a multiple of 32).
constexpr size_t i4_panel_bytes(size_t cols) {
  const size_t groups = cols / kGroupColumns;
  return groups * kGroupBytes + (groups + kBlockGroups - 1) / kBlockGroups * kGroupScaleBytes;
}

/// Bytes from a panel's start to group g's four rows, and to its four f16 scales.
constexpr size_t i4_group_at(size_t g) {
  constexpr size_t kBlockBytes = kGroupScaleBytes + kBlockGroups * kGroupBytes;
  return g / kBlockGroups * kBlockBytes + kGroupScaleBytes + g % kBlockGroups * kGroupBytes;
}
constexpr size_t i4_scales_at(size_t g) {
  constexpr size_t kBlockBytes = kGroupScaleBytes + kBlockGroups * kGroupBytes;
  return g / kBlockGroups * kBlockBytes + g % kBlockGroups * kPanelRows * sizeof(uint16_t);
}

/// Weight of column c of a group, from the 16 bytes of its row.
constexpr int32_t i4_weight(const uint8_t* row, size_t c) {
  const int32_t nibble = (row[c % 4 * 4 + c / 8] >> (c / 4 % 2 * 4)) & 0xf;
  return nibble >= 8 ? nibble - 16 : nibble;
}

/// column_major: column c holds the rows' weights for input c, padded to kColumnRows rows.
inline constexpr size_t kColumnRows = 64;

/// Activation buffers are zero-padded to this many floats.
inline constexpr size_t kActivationPad = 64;

/// t2, ternary in two bits (GGUF type I2_S, blocks of 128 columns; rows follow each other without gaps):
///
///   byte p of a block, p = 0 .. 31:  | bits 7:6 column p | 5:4 column p + 32 | 3:2 column p + 64 | 1:0 column p + 96 |
///
/// A code u is the weight u - 1; 3 is none.
inline constexpr size_t kT2BlockColumns = 128, kT2BlockBytes = 32;

/// Code of column c of a row.
constexpr int32_t t2_code(const uint8_t* row, size_t c) {
  const size_t in_block = c % kT2BlockColumns;
  return (row[c / kT2BlockColumns * kT2BlockBytes + in_block % 32] >> (6 - in_block / 32 * 2)) & 3;
}

/// How quantize_i16 of an ISA writes a row and its i16 products read it; zeros are zeros in both.
///
///   kColumns:     int16 values in order
///   kBytePlanes:  a group of 32 columns:  | high byte of 32 columns | low byte of 32 |   64 bytes, then the next group;
///                 both signed, value = 256 * high + low, so that a dot product of bytes takes them as they are
enum class I16Order { kColumns, kBytePlanes };
inline constexpr size_t kPlaneColumns = 32;

/// Value of column c of a row.
inline int32_t i16_value(I16Order order, const int16_t* q, size_t c) {
  if (order == I16Order::kColumns) return q[c];
  const auto* high =
      reinterpret_cast<const int8_t*>(q + c / kPlaneColumns * kPlaneColumns) + c % kPlaneColumns;
  return 256 * high[0] + high[kPlaneColumns];
}

}  // namespace spiked::layout
