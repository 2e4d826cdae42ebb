#include <immintrin.h>

#include "kernels/peak.h"

namespace spiked::kernels::avx2_vnni {
namespace {

/// Independent sums: two instructions a cycle times a latency of four or five, and room for the operands.
constexpr size_t kSums = 10;

}  // namespace

uint64_t peak_i8(size_t n_steps) {
  __m256i sums[kSums] = {};
  __m256i w = _mm256_set1_epi8(3), q = _mm256_set1_epi8(-5);
  for (size_t step = 0; step < n_steps; ++step) {
#pragma GCC unroll 10
    for (size_t i = 0; i < kSums; ++i) {
      // The compiler may not know what they hold, so no product is computed once for all.
      asm volatile("" : "+x"(w), "+x"(q));
      sums[i] = _mm256_dpbusd_avx_epi32(sums[i], w, q);
      asm volatile("" : "+x"(sums[i]));
    }
  }
  return n_steps * kSums * 32;
}

}  // namespace spiked::kernels::avx2_vnni
