#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
constexpr size_t kPageBytes = 4096;
/// An int32 lane takes an eighth of these: 128 * 32639 * 256 < 2^31. Then the sums go on in f64, where they are exact too.
constexpr size_t kNarrowColumns = 2048;

/// acc += 32 products of w and q, four to an int32 lane.
__m256i multiply_add(__m256i acc, const int8_t* w, const __m256i (&q)[2]) {
  const auto* at = reinterpret_cast<const __m128i*>(w);
  const __m256i low = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(at)), q[0]);
  const __m256i high = _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(at + 1)), q[1]);
  return _mm256_add_epi32(acc, _mm256_add_epi32(low, high));
}

/// Four rows' sums of int32 lanes, as f64: each is below 2^31 in its lanes but not in all.
__m256d sum_rows(const __m256i (&p)[kPanelRows]) {
  __m256d row[kPanelRows];
  for (size_t r = 0; r < kPanelRows; ++r) {
    row[r] = _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(p[r])),
                           _mm256_cvtepi32_pd(_mm256_extracti128_si256(p[r], 1)));
  }
  const __m256d first = _mm256_hadd_pd(row[0], row[1]), second = _mm256_hadd_pd(row[2], row[3]);
  return _mm256_add_pd(_mm256_permute2f128_pd(first, second, 0x20),
                       _mm256_permute2f128_pd(first, second, 0x31));
}

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  __m256d sum[n_tokens];
  for (__m256d& token : sum) token = _mm256_setzero_pd();
  for (size_t begin = 0; begin < cols; begin += kNarrowColumns) {
    const size_t end = cols - begin < kNarrowColumns ? cols : begin + kNarrowColumns;
    __m256i p[n_tokens][kPanelRows];
    for (auto& token : p) {
      for (__m256i& row : token) row = _mm256_setzero_si256();
    }
    for (size_t c = begin; c < end; c += kPanelBytes, w += kBlockBytes) {
      if constexpr (n_tokens == 1) {
        // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there: 1.1 of a plain
        // read's bandwidth, against 0.9 without (docs/experiments.md).
        if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kBlockBytes)
          __builtin_prefetch(w + kPageBytes, 0, 2);
      }
      __m256i qs[n_tokens][2];
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) {
        const auto* at = reinterpret_cast<const __m256i*>(q + t * q_stride + c);
        qs[t][0] = _mm256_loadu_si256(at);
        qs[t][1] = _mm256_loadu_si256(at + 1);
      }
#pragma GCC unroll 4
      for (size_t r = 0; r < kPanelRows; ++r) {
#pragma GCC unroll 2
        for (size_t t = 0; t < n_tokens; ++t) p[t][r] = multiply_add(p[t][r], w + r * kPanelBytes, qs[t]);
      }
    }
    for (size_t t = 0; t < n_tokens; ++t) sum[t] = _mm256_add_pd(sum[t], sum_rows(p[t]));
  }
  const __m128 scales = _mm_loadu_ps(scale);
  for (size_t t = 0; t < n_tokens; ++t) {
    const __m128 factor = _mm_mul_ps(_mm_set1_ps(q_scale[t]), scales);
    _mm_storeu_ps(y + t * y_stride, _mm_mul_ps(_mm256_cvtpd_ps(sum[t]), factor));
  }
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens>
void multiply_tile(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                   size_t q_stride, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                   size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    multiply<n_tokens>(w + row * cols, scale + row, q, q_scale, q_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i8_i16(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                   size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                   size_t y_stride) {
  const size_t fitting = kPanelBlockBytes / (kPanelRows * cols + 1), block = fitting == 0 ? 1 : fitting;
  for (size_t panel = panel_begin; panel < panel_end; panel += block) {
    const size_t end = panel_end - panel < block ? panel_end : panel + block;
    size_t t = 0;
    for (; t + 2 <= batch; t += 2)
      multiply_tile<2>(w, scale, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
    if (t < batch)
      multiply_tile<1>(w, scale, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
  }
}

}  // namespace spiked::kernels::avx2
