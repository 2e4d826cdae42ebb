#include "kernels/self_test/pattern.h"

#include <bit>
#include <cmath>
#include <limits>

namespace spiked::kernels::testing {
namespace {

using Limits = std::numeric_limits<float>;

float denormal(Random& random) {
  const auto bits = static_cast<uint32_t>(random.next());
  return std::bit_cast<float>(bits & 0x807fffffu);
}

float special(Random& random) {
  switch (random.below(8)) {
    case 0:
      return Limits::quiet_NaN();
    case 1:
      return Limits::infinity();
    case 2:
      return -Limits::infinity();
    case 3:
      return 0.0f;
    case 4:
      return -0.0f;
    case 5:
      return denormal(random);
    default:
      return random.number();
  }
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Random::number() {
  const uint64_t bits = next();
  const float unit = static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23f;
  return std::ldexp(unit, static_cast<int>(bits % 17) - 8);
}

const char* name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kRandom:
      return "random";
    case Pattern::kLowest:
      return "lowest";
    case Pattern::kHighest:
      return "highest";
    case Pattern::kAlternating:
      return "alternating";
    case Pattern::kDenormal:
      return "denormal";
    case Pattern::kSpecial:
      return "special";
  }
  return "?";
}

void fill(Random& random, Pattern pattern, float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    switch (pattern) {
      case Pattern::kRandom:
        x[i] = random.number();
        break;
      case Pattern::kLowest:
        x[i] = Limits::lowest();
        break;
      case Pattern::kHighest:
        x[i] = Limits::max();
        break;
      case Pattern::kAlternating:
        x[i] = i % 2 == 0 ? 1e18f : -1e18f;
        break;
      case Pattern::kDenormal:
        x[i] = denormal(random);
        break;
      case Pattern::kSpecial:
        x[i] = special(random);
        break;
    }
  }
}

void fill(Random& random, Pattern pattern, int8_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    switch (pattern) {
      case Pattern::kLowest:
        x[i] = -128;
        break;
      case Pattern::kHighest:
        x[i] = 127;
        break;
      case Pattern::kAlternating:
        x[i] = i % 2 == 0 ? 127 : -127;
        break;
      default:
        x[i] = static_cast<int8_t>(random.next());
        break;
    }
  }
}

}  // namespace spiked::kernels::testing
