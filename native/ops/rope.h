#pragma once
#include <cstddef>

namespace spiked::ops {

/// cos and sin of f32(pos) * inv_freq[j] for one position.
///
/// inv_freq  f32 [half], the STORED values (a bf16 checkpoint rounds them)
/// cos, sin  f32 [half]
/// Source: docs/numerics.md, rope.
void rope_angles(const float* inv_freq, size_t half, size_t pos, float* cos, float* sin);

}  // namespace spiked::ops
