#include <arm_neon.h>

#include "kernels/peak.h"

namespace spiked::kernels::neon {
namespace {

/// Independent sums: more than any core's pipes times its latency, and room for the operands.
constexpr size_t kSums = 12;

/// The compiler may not know what v holds, so what depends on it is computed again each time; costs nothing.
template <typename V>
void renew(V& v) {
  asm volatile("" : "+w"(v));
}

/// sums[i] = add(sums[i], w, q) for all of them.
template <typename Sum, typename V, typename Add>
void add_all(Sum (&sums)[kSums], V& w, V& q, Add add) {
#pragma GCC unroll 12
  for (size_t i = 0; i < kSums; ++i) {
    renew(w);
    renew(q);
    sums[i] = add(sums[i], w, q);
    renew(sums[i]);
  }
}

}  // namespace

uint64_t peak_f32(size_t n_steps) {
  float32x4_t sums[kSums] = {}, w = vdupq_n_f32(1.0f), x = vdupq_n_f32(0.001f);
  for (size_t step = 0; step < n_steps; ++step)
    add_all(sums, w, x, [](float32x4_t sum, float32x4_t a, float32x4_t b) { return vfmaq_f32(sum, a, b); });
  return n_steps * kSums * 4;
}

uint64_t peak_i8(size_t n_steps) {
  int32x4_t sums[kSums] = {};
  int8x16_t w = vdupq_n_s8(3), q = vdupq_n_s8(-5);
  for (size_t step = 0; step < n_steps; ++step)
    add_all(sums, w, q, [](int32x4_t sum, int8x16_t a, int8x16_t b) {
      return vpadalq_s16(sum, vmlal_high_s8(vmull_s8(vget_low_s8(a), vget_low_s8(b)), a, b));
    });
  return n_steps * kSums * 16;
}

/// Two rounds over the sums, so that no smlal2 waits for the smlal before it.
uint64_t peak_i16(size_t n_steps) {
  int32x4_t sums[kSums] = {};
  int16x8_t w = vdupq_n_s16(3), q = vdupq_n_s16(-5);
  for (size_t step = 0; step < n_steps; ++step) {
    add_all(sums, w, q, [](int32x4_t sum, int16x8_t a, int16x8_t b) {
      return vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b));
    });
    add_all(sums, w, q, [](int32x4_t sum, int16x8_t a, int16x8_t b) { return vmlal_high_s16(sum, a, b); });
  }
  return n_steps * kSums * 8;
}

/// As above in 16-bit lanes, which ternary products widen once in fifteen blocks.
uint64_t peak_t2_i8(size_t n_steps) {
  int16x8_t sums[kSums] = {};
  int8x16_t w = vdupq_n_s8(1), q = vdupq_n_s8(-5);
  for (size_t step = 0; step < n_steps; ++step) {
    add_all(sums, w, q, [](int16x8_t sum, int8x16_t a, int8x16_t b) {
      return vmlal_s8(sum, vget_low_s8(a), vget_low_s8(b));
    });
    add_all(sums, w, q, [](int16x8_t sum, int8x16_t a, int8x16_t b) { return vmlal_high_s8(sum, a, b); });
  }
  return n_steps * kSums * 16;
}

}  // namespace spiked::kernels::neon
