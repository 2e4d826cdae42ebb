#pragma once
#include <cmath>

#include "kernels/kernels.h"

namespace spiked::ops {

/// In given decisions: left to the neuron itself.
inline constexpr uint8_t kFree = 2;

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

/// The membrane that membrane_step compares with the threshold.
inline float integrate(float membrane, float x, float leak) {
  const float decayed = leak * membrane;
  float m = decayed + x;
  m = m < -3.0f ? -3.0f : m;
  return m > 3.0f ? 3.0f : m;
}

/// As margin, of the membrane that membrane_step is about to compare with the threshold.
inline float membrane_margin(const float* membrane, const float* x, size_t n, float leak, float threshold,
                             float smallest) {
  for (size_t i = 0; i < n; ++i) {
    const float m = integrate(membrane[i], x[i], leak);
    smallest = margin(&m, 1, threshold, smallest);
  }
  return smallest;
}

/// own[i] = 1 where z[i] >= threshold, else 0.
inline void record(const float* z, size_t n, float threshold, uint8_t* own) {
  for (size_t i = 0; i < n; ++i) own[i] = z[i] >= threshold ? 1 : 0;
}

/// As record, of the membrane that membrane_step is about to compare with the threshold.
inline void membrane_record(const float* membrane, const float* x, size_t n, float leak, float threshold,
                            uint8_t* own) {
  for (size_t i = 0; i < n; ++i) own[i] = integrate(membrane[i], x[i], leak) >= threshold ? 1 : 0;
}

/// The decision that counts: the given one, unless that is kFree.
inline bool decide(uint8_t given, bool own) { return given == kFree ? own : given != 0; }

/// As fire, with given decisions [n].
inline size_t fire_given(const float* z, size_t n, float threshold, const uint8_t* given, uint32_t* active) {
  size_t n_active = 0;
  for (size_t i = 0; i < n; ++i)
    if (decide(given[i], z[i] >= threshold)) active[n_active++] = static_cast<uint32_t>(i);
  return n_active;
}

/// As membrane_step, with given decisions [n]: the membrane resets where they say fired.
inline size_t membrane_step_given(float* membrane, const float* x, size_t n, float leak, float threshold,
                                  const uint8_t* given, uint32_t* active) {
  size_t n_active = 0;
  for (size_t i = 0; i < n; ++i) {
    const float m = integrate(membrane[i], x[i], leak);
    const bool fired = decide(given[i], m >= threshold);
    membrane[i] = fired ? 0.0f : m;
    if (fired) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::ops
