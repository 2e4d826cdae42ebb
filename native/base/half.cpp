#include "base/half.h"

#include <bit>

namespace spiked::half {
namespace {

constexpr uint32_t kF32Infinity = 0x7f800000u;
constexpr uint16_t kInfinity = 0x7c00u, kQuietNan = 0x7e00u;
constexpr int kDroppedBits = 13;      // of the mantissa: 23 against 10
constexpr int kBiasDifference = 112;  // 127 against 15

}  // namespace

float to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | kF32Infinity | (mantissa << kDroppedBits));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal or zero
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + kBiasDifference) << 23) | (mantissa << kDroppedBits));
}

uint16_t from_f32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > kF32Infinity) return static_cast<uint16_t>(sign | kQuietNan);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | kInfinity);  // 65520, halfway past 65504
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, which the addition rounds to
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t odd = (magnitude >> kDroppedBits) & 1u;
  const uint32_t rounded = magnitude + 0xfffu + odd;
  return static_cast<uint16_t>(sign | ((rounded >> kDroppedBits) - (kBiasDifference << 10)));
}

}  // namespace spiked::half
