#include "kernels/self_test/pattern.h"

#include <bit>
#include <cmath>
#include <cstring>
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

void fill(Random& random, Pattern pattern, int16_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    switch (pattern) {
      case Pattern::kLowest:
        x[i] = -32768;
        break;
      case Pattern::kHighest:
        x[i] = 32767;
        break;
      case Pattern::kAlternating:
        x[i] = i % 2 == 0 ? 32767 : -32767;
        break;
      default:
        x[i] = static_cast<int16_t>(random.next());
        break;
    }
  }
}

void fill_quantized(Random& random, Pattern pattern, int8_t* q, size_t n) {
  fill(random, pattern, q, n);
  for (size_t i = 0; i < n; ++i) q[i] = q[i] == -128 ? int8_t{-127} : q[i];
}

void fill_quantized(Random& random, Pattern pattern, int16_t* q, size_t n) {
  fill(random, pattern, q, n);
  for (size_t i = 0; i < n; ++i)
    q[i] = q[i] < -32639 ? int16_t{-32639} : q[i] > 32639 ? int16_t{32639} : q[i];
}

void arrange(layout::I16Order order, int16_t* q, size_t n) {
  if (order == layout::I16Order::kColumns) return;
  for (size_t c = 0; c < n; c += layout::kPlaneColumns) {
    int8_t planes[2][layout::kPlaneColumns];
    for (size_t i = 0; i < layout::kPlaneColumns; ++i) {
      const auto low = static_cast<int8_t>(q[c + i]);
      planes[0][i] = static_cast<int8_t>((q[c + i] - low) / 256);
      planes[1][i] = low;
    }
    std::memcpy(q + c, planes, sizeof planes);
  }
}

void straighten(layout::I16Order order, int16_t* q, size_t n) {
  if (order == layout::I16Order::kColumns) return;
  for (size_t c = 0; c < n; c += layout::kPlaneColumns) {
    int16_t values[layout::kPlaneColumns];
    for (size_t i = 0; i < layout::kPlaneColumns; ++i)
      values[i] = static_cast<int16_t>(layout::i16_value(order, q + c, i));
    std::memcpy(q + c, values, sizeof values);
  }
}

namespace {

uint16_t half_number(Random& random, Pattern pattern) {
  const auto bits = static_cast<uint16_t>(random.next());
  switch (pattern) {
    case Pattern::kLowest:
      return 0xfbffu;  // -65504
    case Pattern::kHighest:
      return 0x7bffu;
    case Pattern::kDenormal:
      return bits & 0x83ffu;
    case Pattern::kSpecial:
      return bits;
    default:
      return static_cast<uint16_t>((bits & 0x83ffu) | ((8u + bits / 1024 % 16) << 10));  // 2^-7 to 2^9
  }
}

}  // namespace

void fill_f16(Random& random, Pattern pattern, uint16_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = half_number(random, pattern);
}

void fill_t2(Random& random, Pattern pattern, uint8_t* w, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    size_t byte = 0;
    for (size_t plane = 0; plane < 4; ++plane) byte = byte * 4 + random.below(3);
    w[i] = pattern == Pattern::kLowest        ? 0x00
           : pattern == Pattern::kHighest     ? 0xaa
           : pattern == Pattern::kAlternating ? (i % 2 == 0 ? 0x88 : 0x22)
                                              : static_cast<uint8_t>(byte);
  }
}

void fill_i4_panels(Random& random, Pattern pattern, uint8_t* w, size_t n_panels, size_t cols) {
  const size_t panel_bytes = layout::i4_panel_bytes(cols);
  for (size_t i = 0; i < n_panels * panel_bytes; ++i) {
    const auto byte = static_cast<uint8_t>(random.next());
    w[i] = pattern == Pattern::kLowest        ? 0x88
           : pattern == Pattern::kHighest     ? 0x77
           : pattern == Pattern::kAlternating ? (i % 2 == 0 ? 0x78 : 0x87)
                                              : byte;
  }
  for (size_t panel = 0; panel < n_panels; ++panel) {
    for (size_t g = 0; g < cols / layout::kGroupColumns; ++g) {
      for (size_t r = 0; r < layout::kPanelRows; ++r) {
        const uint16_t scale = half_number(random, pattern);
        std::memcpy(w + panel * panel_bytes + layout::i4_scales_at(g) + r * sizeof scale, &scale,
                    sizeof scale);
      }
    }
  }
}

}  // namespace spiked::kernels::testing
