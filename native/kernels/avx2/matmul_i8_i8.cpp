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

/// acc += the 32 products of w and q, four to an int32 lane. |w| goes in as unsigned and its sign to q, so that pairs stay below
/// 2 * 128 * 127 < 2^15 even for w = -128; q = -128 would break it, and a quantiser never gives it.
__m256i multiply_add(__m256i acc, __m256i w, __m256i q) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

__m128i sum_rows(const __m256i (&p)[kPanelRows]) {
  const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
}

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
              size_t cols, float* y, size_t y_stride) {
  __m256i p[n_tokens][kPanelRows];
  for (auto& token : p) {
    for (__m256i& row : token) row = _mm256_setzero_si256();
  }
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
    if constexpr (n_tokens == 1) {
      // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there: 1.1 of a plain
      // read's bandwidth, against 0.9 without (docs/experiments.md).
      if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kBlockBytes) __builtin_prefetch(w + kPageBytes, 0, 2);
    }
    __m256i qs[n_tokens];
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) {
      qs[t] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + t * q_stride + c));
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < kPanelRows; ++r) {
      const __m256i ws = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + r * kPanelBytes));
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) p[t][r] = multiply_add(p[t][r], ws, qs[t]);
    }
  }
  const __m128 scales = _mm_loadu_ps(scale);
  for (size_t t = 0; t < n_tokens; ++t) {
    const __m128 factor = _mm_mul_ps(_mm_set1_ps(q_scale[t]), scales);
    _mm_storeu_ps(y + t * y_stride, _mm_mul_ps(_mm_cvtepi32_ps(sum_rows(p[t])), factor));
  }
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens>
void multiply_tile(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale,
                   size_t q_stride, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                   size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    multiply<n_tokens>(w + row * cols, scale + row, q, q_scale, q_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i8_i8(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
                  size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
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
