#pragma once
#include <cstddef>

namespace spiked::symboliclight {

/// One value for every threshold of n positions. As decisions (uint8_t): 0 silent, 1 fired; where they are given to a pass,
/// ops::kFree leaves a decision to it. Any pointer may be null. Layer rows may be longer than n positions (Trace::stride).
template <typename T>
struct SpikeBytes {
  T* encoder = nullptr;  ///< [n, D]
  T* ffn = nullptr;      ///< [L, n, F]
  T* block = nullptr;    ///< [L, n, D] after each block: the next one's input; the last layer's feed nothing

  /// The same arrays, beginning `at` positions further on.
  SpikeBytes moved(size_t at, size_t dim, size_t ffn_dim) const {
    const auto on = [at](T* p, size_t width) { return p == nullptr ? p : p + at * width; };
    return {on(encoder, dim), on(ffn, ffn_dim), on(block, dim)};
  }
};

}  // namespace spiked::symboliclight
