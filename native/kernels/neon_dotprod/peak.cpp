#include <arm_neon.h>

#include "kernels/peak.h"

namespace spiked::kernels::neon_dotprod {
namespace {

/// Independent sums: more than any core's pipes times its latency, and room for the operands.
constexpr size_t kSums = 12;

}  // namespace

uint64_t peak_i8(size_t n_steps) {
  int32x4_t sums[kSums] = {};
  int8x16_t w = vdupq_n_s8(3), q = vdupq_n_s8(-5);
  for (size_t step = 0; step < n_steps; ++step) {
#pragma GCC unroll 12
    for (size_t i = 0; i < kSums; ++i) {
      // The compiler may not know what they hold, so no product is computed once for all.
      asm volatile("" : "+w"(w), "+w"(q));
      sums[i] = vdotq_s32(sums[i], w, q);
      asm volatile("" : "+w"(sums[i]));
    }
  }
  return n_steps * kSums * 16;
}

/// A 16-bit activation is two signed bytes, so a product takes two of the same instruction.
uint64_t peak_i16(size_t n_steps) { return peak_i8(n_steps) / 2; }

}  // namespace spiked::kernels::neon_dotprod
