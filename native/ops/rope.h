#pragma once
#include "kernels/kernels.h"

namespace spiked::ops {

/// cos and sin of f32(pos) * inv_freq[j] for one position.
///
/// inv_freq  f32 [half], the STORED values (a bf16 checkpoint rounds them)
/// cos, sin  f32 [half]
/// Source: docs/numerics.md, rope.
void rope_angles(const float* inv_freq, size_t half, size_t pos, float* cos, float* sin);

/// Rotates one head in place: pairs (j, j + half).
inline void rope(const kernels::Kernels& k, float* x, const float* cos, const float* sin, size_t half) {
  k.rope(x, cos, sin, half);
}

}  // namespace spiked::ops
