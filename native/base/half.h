#pragma once
#include <cstdint>

/// IEEE 754 binary16, exact and independent of the compiler's and the CPU's own.
namespace spiked::half {

/// Every f16 value is an f32 value.
float to_f32(uint16_t h);

/// To nearest, ties to even; beyond 65504 gives an infinity, a NaN stays one.
uint16_t from_f32(float x);

}  // namespace spiked::half
