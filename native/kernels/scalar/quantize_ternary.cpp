#include <cmath>
#include <cstring>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {
namespace {

constexpr float kFloor = 1e-5f;

// By the bits without the sign: NaN is larger than infinity, and infinity larger than any number.
float largest(const float* x, size_t n) {
  uint32_t most = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  float out;
  std::memcpy(&out, &most, sizeof out);
  return out;
}

template <float (*round)(float)>
TernaryRow quantize(const float* x, size_t n, float absmax, float multiplier, int8_t* q) {
  TernaryRow row{absmax, multiplier, 0};
  if (!(absmax < INFINITY)) {
    std::memset(q, 0, n);
    return row;
  }
  for (size_t i = 0; i < n; ++i) {
    float v = round(x[i] * multiplier);
    v = v < -128.0f ? -128.0f : v;
    v = v > 127.0f ? 127.0f : v;
    q[i] = static_cast<int8_t>(v);
    row.sum += q[i];
  }
  return row;
}

float half_even(float x) { return std::nearbyint(x); }
float half_away(float x) { return std::round(x); }

}  // namespace

TernaryRow quantize_ternary(const float* x, size_t n, int8_t* q) {
  const float absmax = largest(x, n);
  return quantize<half_even>(x, n, absmax, 127.0f / (absmax > kFloor ? absmax : kFloor), q);
}

TernaryRow quantize_ternary_half_away(const float* x, size_t n, int8_t* q) {
  const float absmax = largest(x, n);
  const float multiplier = 127.0f / absmax;  // infinite below 3.7e-37
  return quantize<half_away>(x, n, absmax, multiplier < INFINITY ? multiplier : 0.0f, q);
}

}  // namespace spiked::kernels::scalar
