#include <immintrin.h>

#include "kernels/peak.h"

namespace spiked::kernels::avx2 {
namespace {

/// Independent sums: two instructions a cycle times a latency of four or five, and room for the operands.
constexpr size_t kSums = 10;

/// The compiler may not know what v holds, so what depends on it is computed again each time; costs nothing.
template <typename V>
void renew(V& v) {
  asm volatile("" : "+x"(v));
}

/// kSums chains of add(sum, w, q), each of n_each multiply-adds.
template <typename V, typename Add>
uint64_t run(size_t n_steps, uint64_t n_each, V w, V q, Add add) {
  V sum[kSums] = {};
  renew(w);
  for (size_t step = 0; step < n_steps; ++step) {
#pragma GCC unroll 10
    for (size_t i = 0; i < kSums; ++i) {
      renew(q);
      sum[i] = add(sum[i], w, q);
      renew(sum[i]);
    }
  }
  return n_steps * kSums * n_each;
}

}  // namespace

uint64_t peak_f32(size_t n_steps) {
  return run(n_steps, 8, _mm256_set1_ps(1.0f), _mm256_set1_ps(0.001f),
             [](__m256 sum, __m256 w, __m256 x) { return _mm256_fmadd_ps(w, x, sum); });
}

uint64_t peak_i8(size_t n_steps) {
  const __m256i ones = _mm256_set1_epi16(1);
  return run(n_steps, 32, _mm256_set1_epi8(3), _mm256_set1_epi8(-5),
             [ones](__m256i sum, __m256i w, __m256i q) {
               return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(w, q), ones));
             });
}

uint64_t peak_i16(size_t n_steps) {
  return run(n_steps, 16, _mm256_set1_epi8(3), _mm256_set1_epi8(-5), [](__m256i sum, __m256i w, __m256i q) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(w, q));
  });
}

/// Sums of 4-bit weights stay small, so two vectors of them share the widening.
uint64_t peak_i4_i8(size_t n_steps) {
  const __m256i ones = _mm256_set1_epi16(1);
  return run(n_steps, 64, _mm256_set1_epi8(3), _mm256_set1_epi8(-5),
             [ones](__m256i sum, __m256i w, __m256i q) {
               const __m256i first = _mm256_maddubs_epi16(w, q);
               renew(q);
               const __m256i both = _mm256_add_epi16(first, _mm256_maddubs_epi16(w, q));
               return _mm256_add_epi32(sum, _mm256_madd_epi16(both, ones));
             });
}

/// Sums of ternary weights stay small for fifteen blocks, so that widening them hardly counts.
uint64_t peak_t2_i8(size_t n_steps) {
  return run(n_steps, 32, _mm256_set1_epi8(1), _mm256_set1_epi8(-5), [](__m256i sum, __m256i w, __m256i q) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, q));
  });
}

}  // namespace spiked::kernels::avx2
