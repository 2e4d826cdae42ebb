#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/layout.h"

namespace spiked::kernels::testing {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// In [0, n).
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }
  /// In [-1, 1), times a power of two in [2^-8, 2^8].
  float number();

 private:
  uint64_t state_;
};

/// What inputs are filled with.
enum class Pattern { kRandom, kLowest, kHighest, kAlternating, kDenormal, kSpecial };

inline constexpr Pattern kPatterns[] = {Pattern::kRandom,      Pattern::kLowest,   Pattern::kHighest,
                                        Pattern::kAlternating, Pattern::kDenormal, Pattern::kSpecial};

const char* name(Pattern pattern);

/// kLowest and kHighest are the finite ends of the range; kSpecial mixes NaN, infinities, both zeros, denormals and numbers.
void fill(Random& random, Pattern pattern, float* x, size_t n);

/// All of int8, also -128, which an exporter never writes but a file may hold.
void fill(Random& random, Pattern pattern, int8_t* x, size_t n);

/// As a quantiser gives: int8 in [-127, 127], int16 in [-32639, 32639].
void fill_quantized(Random& random, Pattern pattern, int8_t* q, size_t n);
void fill_quantized(Random& random, Pattern pattern, int16_t* q, size_t n);
/// All of int16.
void fill(Random& random, Pattern pattern, int16_t* x, size_t n);

/// n quantised values, a multiple of 32, from their order to `order` and back, in place. int8 has one order.
void arrange(layout::I16Order order, int16_t* q, size_t n);
void straighten(layout::I16Order order, int16_t* q, size_t n);
inline void arrange(layout::I16Order, int8_t*, size_t) {}
inline void straighten(layout::I16Order, int8_t*, size_t) {}

/// f16 numbers by their bits: kSpecial is any pattern of them, NaN and infinities included.
void fill_f16(Random& random, Pattern pattern, uint16_t* x, size_t n);

/// n bytes of t2 codes 0, 1 and 2, four a byte; kLowest is the weight -1 everywhere, kHighest +1.
void fill_t2(Random& random, Pattern pattern, uint8_t* w, size_t n);

/// Whole panel_4x32_i4 panels: all nibbles, also -8, which an exporter never writes, and f16 scales up to both ends of their range.
void fill_i4_panels(Random& random, Pattern pattern, uint8_t* w, size_t n_panels, size_t cols);

}  // namespace spiked::kernels::testing
