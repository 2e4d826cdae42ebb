#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuzz {

using Bytes = std::vector<uint8_t>;

struct Random {
  uint64_t state;
  uint64_t next() {  // SplitMix64
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
};

/// One change of a model file: a flipped bit, a written count, a cut, a copied or inserted piece. Half of the changes fall into the header,
/// where GGUF keeps its counts, lengths and offsets.
void mutate_once(Bytes& bytes, Random& random);

}  // namespace fuzz
