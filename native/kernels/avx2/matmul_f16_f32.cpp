#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Rows walked at once with several tokens, and with one: each row and token is a single FMA chain, and fewer wait for its latency.
constexpr size_t kRows = 4, kRowsAlone = 8;
constexpr size_t kLineBytes = 64;
/// Tokens whose sums fit the registers beside four rows'.
constexpr size_t kTokens = 3;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kRowBlockBytes = 128 * 1024;

/// The tree of docs/numerics.md.
float tree(__m256 p) {
  const __m128 s = _mm_add_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1));
  const __m128 t = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_shuffle_ps(t, t, 1)));
}

template <size_t n_rows, size_t n_tokens>
void multiply(const uint16_t* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  __m256 p[n_rows][n_tokens];
  for (auto& row : p) {
    for (__m256& sums : row) sums = _mm256_setzero_ps();
  }
  for (size_t c = 0; c < cols; c += 8) {
    if constexpr (n_tokens == 1) {
      // Eight rows are eight streams that end with their pages; the lines of the next eight, in order, are one.
      const uint16_t* next = w + n_rows * (cols + c);
      for (size_t at = 0; at < n_rows * 8; at += kLineBytes / sizeof *w) __builtin_prefetch(next + at, 0, 2);
    }
    __m256 xs[n_tokens];
#pragma GCC unroll 4
    for (size_t t = 0; t < n_tokens; ++t) xs[t] = _mm256_loadu_ps(x + t * x_stride + c);
#pragma GCC unroll 8
    for (size_t r = 0; r < n_rows; ++r) {
      const __m256 ws = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + r * cols + c)));
#pragma GCC unroll 4
      for (size_t t = 0; t < n_tokens; ++t) p[r][t] = _mm256_fmadd_ps(ws, xs[t], p[r][t]);
    }
  }
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t t = 0; t < n_tokens; ++t) y[t * y_stride + r] = tree(p[r][t]);
  }
}

template <size_t n_tokens>
void multiply_rows(const uint16_t* w, const float* x, size_t x_stride, size_t cols, size_t row_begin,
                   size_t row_end, float* y, size_t y_stride) {
  constexpr size_t n_rows = n_tokens == 1 ? kRowsAlone : kRows;
  size_t r = row_begin;
  for (; r + n_rows <= row_end; r += n_rows)
    multiply<n_rows, n_tokens>(w + r * cols, x, x_stride, cols, y + r, y_stride);
  for (; r < row_end; ++r) multiply<1, n_tokens>(w + r * cols, x, x_stride, cols, y + r, y_stride);
}

}  // namespace

void matmul_f16_f32(const uint16_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                    size_t row_begin, size_t row_end, float* y, size_t y_stride) {
  const size_t fitting = kRowBlockBytes / (kRowsAlone * cols * sizeof *w + 1) * kRowsAlone;
  const size_t block = fitting == 0 ? kRowsAlone : fitting;
  for (size_t row = row_begin; row < row_end; row += block) {
    const size_t end = row_end - row < block ? row_end : row + block;
    const auto run = [&](auto tile, size_t t) {
      tile(w, x + t * x_stride, x_stride, cols, row, end, y + t * y_stride, y_stride);
    };
    size_t t = 0;
    for (; t + kTokens <= batch; t += kTokens) run(multiply_rows<kTokens>, t);
    for (; t < batch; ++t) run(multiply_rows<1>, t);
  }
}

}  // namespace spiked::kernels::avx2
