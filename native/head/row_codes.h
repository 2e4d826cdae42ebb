#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spiked::head {

/// One row of a first pass's table: its codes into the panel that holds the row, and w - q left in `rest`.
///
/// w, rest  f64 [cols], cols a multiple of 32; rest = w at first
/// lane_row  which of the panel's rows; the panel's bytes are zero there

/// 4 bits with an f16 scale for each group of 32 columns (panel_4x32_i4); of five clippings the one with the least error. False when a scale
/// does not fit.
bool encode_row_4(const std::vector<double>& w, size_t lane_row, uint8_t* panel, std::vector<double>& rest);

/// 8 bits with one scale (panel_4x32 of int8): largest |w| / 127, 1 for a row of zeros.
float encode_row_8(const std::vector<double>& w, size_t lane_row, uint8_t* panel, std::vector<double>& rest);

}  // namespace spiked::head
