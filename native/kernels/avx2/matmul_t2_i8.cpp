#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

using layout::kT2BlockBytes;
using layout::kT2BlockColumns;

constexpr size_t kPlanes = 4;
constexpr size_t kPageBytes = 4096;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kRowBlockBytes = 128 * 1024;
/// Tokens whose sums fit the registers and whose activations fit L1 at 6,912 columns.
constexpr size_t kTokens = 4;

__m256i load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }

/// The 32 products of codes and q, two to an int16 lane: at most 2 * scale * 2 * 128.
__m256i multiply(__m256i codes, const int8_t* q) { return _mm256_maddubs_epi16(codes, load(q)); }

int32_t sum_lanes(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, _MM_SHUFFLE(1, 0, 3, 2)));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(s);
}

/// Four times sum_c u[c] * q[c] of one row and one token, in eight lanes. The odd planes stay where the mask leaves them, so their codes count four times: that
/// saves two of three shifts, and memory is what one token waits for.
__m256i dot_lanes(const uint8_t* w, const int8_t* q, size_t cols) {
  // A block adds at most 2 * 4 * 2 * 2 * 128 = 4096 to a lane of `fours`: seven stay below 2^15.
  constexpr size_t kRunColumns = 7 * kT2BlockColumns;
  const __m256i low = _mm256_set1_epi8(0x03), high = _mm256_set1_epi8(0x0c);
  const __m256i one = _mm256_set1_epi16(1), four = _mm256_set1_epi16(4);
  __m256i sum = _mm256_setzero_si256();
  for (size_t c = 0; c < cols;) {
    const size_t end = cols - c < kRunColumns ? cols : c + kRunColumns;
    __m256i ones = _mm256_setzero_si256(), fours = ones;
    for (; c < end; c += kT2BlockColumns, w += kT2BlockBytes) {
      // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there
      // (docs/experiments.md).
      if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kT2BlockBytes)
        __builtin_prefetch(w + kPageBytes, 0, 2);
      const __m256i v = load(w), shifted = _mm256_srli_epi16(v, 4);
      fours = _mm256_add_epi16(fours, multiply(_mm256_and_si256(shifted, high), q + c));
      ones = _mm256_add_epi16(ones, multiply(_mm256_and_si256(shifted, low), q + c + 32));
      fours = _mm256_add_epi16(fours, multiply(_mm256_and_si256(v, high), q + c + 64));
      ones = _mm256_add_epi16(ones, multiply(_mm256_and_si256(v, low), q + c + 96));
    }
    sum =
        _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(ones, four), _mm256_madd_epi16(fours, one)));
  }
  return sum;
}

void multiply_token(const uint8_t* w, const int8_t* q, int32_t q_sum, float y_scale, size_t cols,
                    size_t row_begin, size_t row_end, float* y) {
  const size_t row_bytes = cols / kPlanes;
  size_t r = row_begin;
  // One row after the other, one stream; four are added up together.
  for (; r + 4 <= row_end; r += 4) {
    __m256i p[4];
    for (size_t i = 0; i < 4; ++i) p[i] = dot_lanes(w + (r + i) * row_bytes, q, cols);
    const __m256i halves = _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
    const __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    const __m128i products = _mm_sub_epi32(_mm_srai_epi32(sums, 2), _mm_set1_epi32(q_sum));
    _mm_storeu_ps(y + r, _mm_mul_ps(_mm_cvtepi32_ps(products), _mm_set1_ps(y_scale)));
  }
  for (; r < row_end; ++r)
    y[r] = static_cast<float>(sum_lanes(dot_lanes(w + r * row_bytes, q, cols)) / 4 - q_sum) * y_scale;
}

/// One row and n_tokens: the planes are taken apart once.
template <size_t n_tokens>
void multiply_row(const uint8_t* w, const int8_t* q, size_t q_stride, size_t cols,
                  int32_t (&dots)[n_tokens]) {
  // A block adds at most 4 * 2 * 2 * 128 = 2048 to a lane: fifteen stay below 2^15.
  constexpr size_t kRunColumns = 15 * kT2BlockColumns;
  const __m256i mask = _mm256_set1_epi8(0x03), one = _mm256_set1_epi16(1);
  __m256i sums[n_tokens];
  for (__m256i& s : sums) s = _mm256_setzero_si256();
  for (size_t c = 0; c < cols;) {
    const size_t end = cols - c < kRunColumns ? cols : c + kRunColumns;
    __m256i words[n_tokens];
    for (__m256i& s : words) s = _mm256_setzero_si256();
    for (; c < end; c += kT2BlockColumns, w += kT2BlockBytes) {
      const __m256i v = load(w);
      const __m256i planes[kPlanes] = {
          _mm256_and_si256(_mm256_srli_epi16(v, 6), mask), _mm256_and_si256(_mm256_srli_epi16(v, 4), mask),
          _mm256_and_si256(_mm256_srli_epi16(v, 2), mask), _mm256_and_si256(v, mask)};
#pragma GCC unroll 4
      for (size_t t = 0; t < n_tokens; ++t) {
        const int8_t* at = q + t * q_stride + c;
        const __m256i first = _mm256_add_epi16(multiply(planes[0], at), multiply(planes[1], at + 32));
        const __m256i second = _mm256_add_epi16(multiply(planes[2], at + 64), multiply(planes[3], at + 96));
        words[t] = _mm256_add_epi16(words[t], _mm256_add_epi16(first, second));
      }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < n_tokens; ++t)
      sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(words[t], one));
  }
  for (size_t t = 0; t < n_tokens; ++t) dots[t] = sum_lanes(sums[t]);
}

template <size_t n_tokens>
void multiply_tile(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                   size_t q_stride, size_t cols, size_t row_begin, size_t row_end, float* y,
                   size_t y_stride) {
  for (size_t r = row_begin; r < row_end; ++r) {
    int32_t dots[n_tokens];
    multiply_row<n_tokens>(w + r * (cols / 4), q, q_stride, cols, dots);
    for (size_t t = 0; t < n_tokens; ++t)
      y[t * y_stride + r] = static_cast<float>(dots[t] - q_sum[t]) * y_scale[t];
  }
}

}  // namespace

void matmul_t2_i8(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                  size_t q_stride, size_t batch, size_t cols, size_t row_begin, size_t row_end, float* y,
                  size_t y_stride) {
  if (batch == 1) return multiply_token(w, q, q_sum[0], y_scale[0], cols, row_begin, row_end, y);
  const size_t fitting = kRowBlockBytes / (cols / 4 + 1), block = fitting == 0 ? 1 : fitting;
  for (size_t row = row_begin; row < row_end; row += block) {
    const size_t end = row_end - row < block ? row_end : row + block;
    const auto run = [&](auto tile, size_t t) {
      tile(w, q + t * q_stride, q_sum + t, y_scale + t, q_stride, cols, row, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_tile<kTokens>, t);
    for (; t + 2 <= batch; t += 2) run(multiply_tile<2>, t);
    if (t < batch) run(multiply_tile<1>, t);
  }
}

}  // namespace spiked::kernels::avx2
