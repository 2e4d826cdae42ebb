#pragma once
#include <cstddef>

namespace spiked {

struct Range {
  size_t begin, end;
};

/// Worker `index` of `size`'s share of [0, n): contiguous, in multiples of `grain`, sizes differing by at most one grain.
/// n need not be a multiple of grain; the last share ends at n. Shares may be empty.
inline Range share(size_t n, size_t grain, unsigned index, unsigned size) {
  const size_t grains = (n + grain - 1) / grain;
  const size_t base = grains / size, extra = grains % size;
  const size_t begin = index * base + (index < extra ? index : extra);
  const size_t end = begin + base + (index < extra ? 1 : 0);
  const size_t b = begin * grain, e = end * grain;
  return {b < n ? b : n, e < n ? e : n};
}

}  // namespace spiked
