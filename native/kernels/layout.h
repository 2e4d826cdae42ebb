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

/// column_major: column c holds the rows' weights for input c, padded to kColumnRows rows.
inline constexpr size_t kColumnRows = 64;

/// Activation buffers are zero-padded to this many floats.
inline constexpr size_t kActivationPad = 64;

}  // namespace spiked::layout
