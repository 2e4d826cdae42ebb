#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2_vnni {
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

int32_t sum_lanes(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, _MM_SHUFFLE(1, 0, 3, 2)));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(s);
}

/// sum += the 32 products of codes and q, four to a lane.
void add_products(__m256i& sum, __m256i codes, const int8_t* q) {
  __m256i added = _mm256_dpbusd_avx_epi32(sum, codes, load(q));
  // Keeps the steps of a loop in order: GCC 12 interleaves them, copies half of the sums and spills some.
  asm("" : "+x"(added));
  sum = added;
}

/// Four times sum_c u[c] * q[c] of one row and one token, in eight lanes. The odd planes stay where the mask leaves them, so their codes count four times: that
/// saves two of three shifts.
__m256i dot_lanes(const uint8_t* w, const int8_t* q, size_t cols) {
  const __m256i low = _mm256_set1_epi8(0x03), high = _mm256_set1_epi8(0x0c);
  __m256i sums[2][kPlanes] = {};  // of even and odd blocks: a product waits for the last of its chain
  const auto multiply_block = [&](size_t block, size_t c) {
    __m256i(&s)[kPlanes] = sums[block];
    const __m256i v = load(w + block * kT2BlockBytes), shifted = _mm256_srli_epi16(v, 4);
    add_products(s[0], _mm256_and_si256(shifted, high), q + c);
    add_products(s[1], _mm256_and_si256(shifted, low), q + c + 32);
    add_products(s[2], _mm256_and_si256(v, high), q + c + 64);
    add_products(s[3], _mm256_and_si256(v, low), q + c + 96);
  };
  size_t c = 0;
  for (; c + 2 * kT2BlockColumns <= cols; c += 2 * kT2BlockColumns, w += 2 * kT2BlockBytes) {
    // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there
    // (docs/experiments.md).
    if (reinterpret_cast<uintptr_t>(w) % kPageBytes < 2 * kT2BlockBytes)
      __builtin_prefetch(w + kPageBytes, 0, 2);
    multiply_block(0, c);
    multiply_block(1, c + kT2BlockColumns);
  }
  if (c < cols) multiply_block(0, c);
#pragma GCC unroll 4
  for (size_t i = 0; i < kPlanes; ++i) sums[0][i] = _mm256_add_epi32(sums[0][i], sums[1][i]);
  const __m256i fours = _mm256_add_epi32(sums[0][0], sums[0][2]),
                ones = _mm256_add_epi32(sums[0][1], sums[0][3]);
  return _mm256_add_epi32(fours, _mm256_slli_epi32(ones, 2));
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
  // Up to eight chains: a product waits for the last of its chain.
  constexpr size_t kChains = n_tokens == 4 ? 2 : 4;
  const __m256i mask = _mm256_set1_epi8(0x03);
  __m256i sums[n_tokens][kChains];
  for (auto& token : sums)
    for (__m256i& s : token) s = _mm256_setzero_si256();
  for (size_t c = 0; c < cols; c += kT2BlockColumns, w += kT2BlockBytes) {
    const __m256i v = load(w);
    const __m256i planes[kPlanes] = {
        _mm256_and_si256(_mm256_srli_epi16(v, 6), mask), _mm256_and_si256(_mm256_srli_epi16(v, 4), mask),
        _mm256_and_si256(_mm256_srli_epi16(v, 2), mask), _mm256_and_si256(v, mask)};
#pragma GCC unroll 4
    for (size_t i = 0; i < kPlanes; ++i)
#pragma GCC unroll 4
      for (size_t t = 0; t < n_tokens; ++t)
        add_products(sums[t][i % kChains], planes[i], q + t * q_stride + c + 32 * i);
  }
  for (size_t t = 0; t < n_tokens; ++t) {
    for (size_t i = 1; i < kChains; ++i) sums[t][0] = _mm256_add_epi32(sums[t][0], sums[t][i]);
    dots[t] = sum_lanes(sums[t][0]);
  }
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

}  // namespace spiked::kernels::avx2_vnni
