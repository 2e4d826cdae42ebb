#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2_vnni {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
constexpr size_t kPageBytes = 4096;
/// The instruction's first operand is unsigned, so weights go in as w + kOffset.
constexpr uint8_t kOffset = 128;

__m256i load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }

/// sum += the 32 products of the unsigned w and q, four to a lane.
void add_products(__m256i& sum, __m256i w, __m256i q) {
  __m256i added = _mm256_dpbusd_avx_epi32(sum, w, q);
  asm("" : "+x"(added));  // keeps the steps of a loop in order, as in matmul_t2_i8
  sum = added;
}

/// sum_c kOffset * q[c], in eight lanes: what every row's sum has too much. A lane of those stays below 255 * 127 * 2^17 / 8 < 2^31.
__m256i offsets(const int8_t* q, size_t cols) {
  __m256i sum = _mm256_setzero_si256();
  for (size_t c = 0; c < cols; c += kPanelBytes)
    add_products(sum, _mm256_set1_epi8(static_cast<char>(kOffset)), load(q + c));
  return sum;
}

__m128i sum_rows(const __m256i (&p)[kPanelRows]) {
  const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
}

template <size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale,
              const __m256i (&too_much)[n_tokens], size_t q_stride, size_t cols, float* y, size_t y_stride) {
  const __m256i offset = _mm256_set1_epi8(static_cast<char>(kOffset));
  __m256i p[n_tokens][kPanelRows];
  for (size_t t = 0; t < n_tokens; ++t) {
    for (__m256i& row : p[t]) row = _mm256_sub_epi32(_mm256_setzero_si256(), too_much[t]);
  }
  for (size_t c = 0; c < cols; c += kPanelBytes, w += kBlockBytes) {
    if constexpr (n_tokens == 1) {
      // As in matmul_t2_i8: a line of the next page starts the hardware's fetching ahead there.
      if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kBlockBytes) __builtin_prefetch(w + kPageBytes, 0, 2);
    }
    __m256i qs[n_tokens];
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) qs[t] = load(q + t * q_stride + c);
#pragma GCC unroll 4
    for (size_t r = 0; r < kPanelRows; ++r) {
      const __m256i ws = _mm256_xor_si256(load(w + r * kPanelBytes), offset);
#pragma GCC unroll 2
      for (size_t t = 0; t < n_tokens; ++t) add_products(p[t][r], ws, qs[t]);
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
  __m256i too_much[n_tokens];
  for (size_t t = 0; t < n_tokens; ++t) too_much[t] = offsets(q + t * q_stride, cols);
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    multiply<n_tokens>(w + row * cols, scale + row, q, q_scale, too_much, q_stride, cols, y + row, y_stride);
  }
}

}  // namespace

void matmul_i8_i8(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale, size_t q_stride,
                  size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                  size_t y_stride) {
  const size_t fitting = kPanelBlockBytes / (kPanelRows * cols + 1), block = fitting == 0 ? 1 : fitting;
  // One token walks all panels once, and its offsets are summed once.
  const size_t step = batch == 1 ? panel_end - panel_begin : block;
  for (size_t panel = panel_begin; panel < panel_end; panel += step) {
    const size_t end = panel_end - panel < step ? panel_end : panel + step;
    size_t t = 0;
    for (; t + 2 <= batch; t += 2)
      multiply_tile<2>(w, scale, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
    if (t < batch)
      multiply_tile<1>(w, scale, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
  }
}

}  // namespace spiked::kernels::avx2_vnni
