#pragma once
#include <cmath>
#include <cstddef>

namespace spiked::ops {

/// The smallest |z[i] - threshold|, or `smallest` when that is smaller: how near any neuron came to flipping.
inline float margin(const float* z, size_t n, float threshold, float smallest) {
  for (size_t i = 0; i < n; ++i) {
    const float distance = std::fabs(z[i] - threshold);
    smallest = distance < smallest ? distance : smallest;
  }
  return smallest;
}

}  // namespace spiked::ops
