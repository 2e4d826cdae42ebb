#pragma once
#include <cmath>

#include "kernels/kernels.h"

namespace spiked::ops {

/// Integrate, clamp to +-3, fire and reset; returns the number of spikes and their ascending indices.
inline size_t membrane_step(const kernels::Kernels& k, float* membrane, const float* x, size_t n, float leak,
                            float threshold, uint32_t* active) {
  return k.membrane_step(membrane, x, n, leak, threshold, active);
}

/// Ascending indices of z >= threshold; returns their number.
inline size_t fire(const kernels::Kernels& k, const float* z, size_t n, float threshold, uint32_t* active) {
  return k.threshold_gather(z, n, threshold, active);
}

/// The smallest |z[i] - threshold|, or `smallest` when that is smaller: how near any neuron came to flipping.
inline float margin(const float* z, size_t n, float threshold, float smallest) {
  for (size_t i = 0; i < n; ++i) {
    const float distance = std::fabs(z[i] - threshold);
    smallest = distance < smallest ? distance : smallest;
  }
  return smallest;
}

/// As margin, of the membrane that membrane_step is about to compare with the threshold.
inline float membrane_margin(const float* membrane, const float* x, size_t n, float leak, float threshold,
                             float smallest) {
  for (size_t i = 0; i < n; ++i) {
    const float decayed = leak * membrane[i];
    float m = decayed + x[i];
    m = m < -3.0f ? -3.0f : m;
    m = m > 3.0f ? 3.0f : m;
    smallest = margin(&m, 1, threshold, smallest);
  }
  return smallest;
}

}  // namespace spiked::ops
