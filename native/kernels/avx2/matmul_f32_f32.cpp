#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

using layout::kPanelRows;

/// Columns of one block: eight, one register a row.
constexpr size_t kBlockColumns = layout::kPanelBytes / sizeof(float);
constexpr size_t kBlockFloats = kPanelRows * kBlockColumns;
constexpr size_t kPageBytes = 4096;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
constexpr size_t kTokens = 3;

/// The tree of docs/numerics.md over the eight partial sums of four rows at once.
__m128 reduce_rows(const __m256 (&p)[kPanelRows]) {
  __m128 s[kPanelRows];
  for (size_t r = 0; r < kPanelRows; ++r) {
    s[r] = _mm_add_ps(_mm256_castps256_ps128(p[r]), _mm256_extractf128_ps(p[r], 1));
  }
  _MM_TRANSPOSE4_PS(s[0], s[1], s[2], s[3]);
  return _mm_add_ps(_mm_add_ps(s[0], s[2]), _mm_add_ps(s[1], s[3]));
}

/// One panel times n_tokens tokens, their 4 * n_tokens sums in registers.
template <size_t n_tokens>
void multiply(const float* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  __m256 p[n_tokens][kPanelRows];
  for (auto& token : p) {
    for (__m256& row : token) row = _mm256_setzero_ps();
  }
  for (size_t c = 0; c < cols; c += kBlockColumns, w += kBlockFloats) {
    if constexpr (n_tokens == 1) {
      // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there: 1.2 of a plain
      // read's bandwidth, against 0.8 without or with every line asked for (docs/experiments.md).
      if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kBlockFloats * sizeof(float))
        __builtin_prefetch(reinterpret_cast<const char*>(w) + kPageBytes, 0, 2);
    }
    __m256 xs[n_tokens];
#pragma GCC unroll 3
    for (size_t t = 0; t < n_tokens; ++t) xs[t] = _mm256_loadu_ps(x + t * x_stride + c);
#pragma GCC unroll 4
    for (size_t r = 0; r < kPanelRows; ++r) {
      const __m256 weights = _mm256_loadu_ps(w + r * kBlockColumns);
#pragma GCC unroll 3
      for (size_t t = 0; t < n_tokens; ++t) p[t][r] = _mm256_fmadd_ps(weights, xs[t], p[t][r]);
    }
  }
  for (size_t t = 0; t < n_tokens; ++t) _mm_storeu_ps(y + t * y_stride, reduce_rows(p[t]));
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens>
void multiply_tile(const float* w, const float* x, size_t x_stride, size_t cols, size_t panel_begin,
                   size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply<n_tokens>(w + panel * kPanelRows * cols, x, x_stride, cols, y + panel * kPanelRows, y_stride);
}

}  // namespace

void matmul_f32_f32(const float* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t fitting = kPanelBlockBytes / (kPanelRows * cols * sizeof(float) + 1),
               block = fitting == 0 ? 1 : fitting;
  for (size_t panel = panel_begin; panel < panel_end; panel += block) {
    const size_t end = panel_end - panel < block ? panel_end : panel + block;
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens)
      multiply_tile<kTokens>(w, x + t * x_stride, x_stride, cols, panel, end, y + t * y_stride, y_stride);
    if (batch - t == 2)
      multiply_tile<2>(w, x + t * x_stride, x_stride, cols, panel, end, y + t * y_stride, y_stride);
    else if (batch - t == 1)
      multiply_tile<1>(w, x + t * x_stride, x_stride, cols, panel, end, y + t * y_stride, y_stride);
  }
}

}  // namespace spiked::kernels::avx2
