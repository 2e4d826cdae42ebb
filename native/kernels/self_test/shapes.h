#pragma once
#include <cstddef>

namespace spiked::kernels::testing {

/// Of one dense product in a sweep.
struct ProductShape {
  size_t panels, cols, batch, panel_begin, panel_end;
};

// Around the column block (32), the block of 4-bit groups (256), the token tiles (2, 3, 4), the token block (12 and, at 1536 columns,
// 42), the columns after which int32 lanes are widened (2048), the width from which two panels are walked at once (4096), the panels
// that all tokens walk before the next ones (at 4128 columns 4 of 8-bit weights, 8 of 4-bit ones) and the width up to which a token's
// activations are arranged once (16384); 1536 is a model's real width.
inline constexpr ProductShape kProductShapes[] = {
    {1, 32, 1, 0, 1},    {2, 32, 2, 0, 2},   {3, 64, 3, 1, 3},   {5, 96, 4, 0, 5},   {5, 160, 5, 2, 5},
    {2, 64, 7, 0, 1},    {4, 32, 13, 0, 4},  {4, 288, 1, 1, 4},  {3, 1536, 1, 0, 3}, {1, 1536, 44, 0, 1},
    {7, 4096, 1, 2, 5},  {5, 4128, 1, 1, 4}, {4, 4128, 1, 0, 4}, {2, 4128, 3, 0, 2}, {3, 32, 2, 1, 1},
    {3, 256, 2, 0, 3},   {2, 2048, 3, 0, 2}, {2, 2080, 1, 0, 2}, {9, 4128, 2, 0, 9}, {3, 16384, 1, 1, 3},
    {2, 16416, 1, 0, 2},
};

}  // namespace spiked::kernels::testing
