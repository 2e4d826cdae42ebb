#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

using layout::kPanelBytes;
using layout::kPanelRows;

constexpr size_t kBlockBytes = kPanelRows * kPanelBytes;
constexpr size_t kPageBytes = 4096, kLineBytes = 64;
/// How far ahead of the block at work a tile asks for lines.
constexpr size_t kAheadBytes = 2048;
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

__m256 load_weights(const int8_t* w) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(w))));
}

/// n_panels panels, each `apart` panels after the one before, times n_tokens tokens: their 4 * n_panels * n_tokens sums in registers.
template <size_t n_panels, size_t n_tokens>
void multiply(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t cols, size_t apart,
              float* y, size_t y_stride) {
  const size_t step = apart * kPanelRows * cols;
  __m256 p[n_panels][n_tokens][kPanelRows];
  for (auto& panel : p) {
    for (auto& token : panel) {
      for (__m256& row : token) row = _mm256_setzero_ps();
    }
  }
  for (size_t c = 0; c < cols; c += kPanelBytes) {
    const int8_t* block = w + c * kPanelRows;
    if constexpr (n_tokens > 1) {
      // A tile works so long on a line that the hardware fetches too few ahead: three tokens took twice the time of a block that is in L2.
      for (size_t i = 0; i < kBlockBytes; i += kLineBytes) __builtin_prefetch(block + kAheadBytes + i, 0, 3);
    }
    if constexpr (n_tokens == 1) {
      // The hardware's fetching ahead ends with the page; a line of the next one, asked for in time, starts it there.
#pragma GCC unroll 2
      for (size_t i = 0; i < n_panels; ++i) {
        const int8_t* at = block + i * step;
        if (reinterpret_cast<uintptr_t>(at) % kPageBytes < kBlockBytes)
          __builtin_prefetch(at + kPageBytes, 0, 2);
      }
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < kPanelBytes; j += 8) {
      __m256 xs[n_tokens];
#pragma GCC unroll 3
      for (size_t t = 0; t < n_tokens; ++t) xs[t] = _mm256_loadu_ps(x + t * x_stride + c + j);
#pragma GCC unroll 2
      for (size_t i = 0; i < n_panels; ++i) {
#pragma GCC unroll 4
        for (size_t r = 0; r < kPanelRows; ++r) {
          const __m256 weights = load_weights(block + i * step + r * kPanelBytes + j);
#pragma GCC unroll 3
          for (size_t t = 0; t < n_tokens; ++t) p[i][t][r] = _mm256_fmadd_ps(weights, xs[t], p[i][t][r]);
        }
      }
    }
  }
  for (size_t i = 0; i < n_panels; ++i) {
    const size_t row = i * apart * kPanelRows;
    const __m128 factor = _mm_loadu_ps(scale + row);
    for (size_t t = 0; t < n_tokens; ++t) {
      _mm_storeu_ps(y + t * y_stride + row, _mm_mul_ps(factor, reduce_rows(p[i][t])));
    }
  }
}

/// Two panels at a time, since the four sums of one leave the multipliers waiting for their own results. Neighbouring panels would be
/// two streams in one page, which the hardware's fetching ahead cannot tell apart (half of the bus); so one walks the first half of
/// the panels and one the second.
void multiply_one_token(const int8_t* w, const float* scale, const float* x, size_t cols, size_t panel_begin,
                        size_t panel_end, float* y) {
  const size_t half = (panel_end - panel_begin) / 2, second = panel_begin + half;
  for (size_t panel = panel_begin; panel < second; ++panel) {
    const size_t row = panel * kPanelRows;
    multiply<2, 1>(w + row * cols, scale + row, x, 0, cols, half, y + row, 0);
  }
  if (second + half < panel_end) {
    const size_t row = (panel_end - 1) * kPanelRows;
    multiply<1, 1>(w + row * cols, scale + row, x, 0, cols, 0, y + row, 0);
  }
}

/// Every panel of a block for one tile of tokens, then the next tile: a tile's activations stay in L1 and the block in L2.
template <size_t n_tokens>
void multiply_tile(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    const size_t row = panel * kPanelRows;
    multiply<1, n_tokens>(w + row * cols, scale + row, x, x_stride, cols, 0, y + row, y_stride);
  }
}

void multiply_tokens(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t n_tokens,
                     size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  // Two and two rather than three and one, whose four sums would wait for their own results.
  for (size_t t = 0; t < n_tokens;) {
    const size_t left = n_tokens - t;
    const bool three = left == kTokens || left > 4;
    const auto tile = three ? multiply_tile<kTokens> : multiply_tile<2>;
    tile(w, scale, x + t * x_stride, x_stride, cols, panel_begin, panel_end, y + t * y_stride, y_stride);
    t += three ? kTokens : 2;
  }
}

}  // namespace

void matmul_i8_f32(const int8_t* w, const float* scale, const float* x, size_t x_stride, size_t batch,
                   size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  if (batch == 1) {
    multiply_one_token(w, scale, x, cols, panel_begin, panel_end, y);
    return;
  }
  const size_t fitting = kPanelBlockBytes / (kPanelRows * cols + 1), block = fitting == 0 ? 1 : fitting;
  for (size_t panel = panel_begin; panel < panel_end; panel += block) {
    const size_t end = panel_end - panel < block ? panel_end : panel + block;
    multiply_tokens(w, scale, x, x_stride, batch, cols, panel, end, y, y_stride);
  }
}

}  // namespace spiked::kernels::avx2
