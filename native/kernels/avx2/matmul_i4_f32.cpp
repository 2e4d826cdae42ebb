#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

using layout::kBlockGroups;
using layout::kGroupBytes;
using layout::kGroupColumns;
using layout::kPanelRows;

/// Two neighbouring rows of a group fill a register.
constexpr size_t kPairs = kPanelRows / 2;
/// Into L2. Measured with one token: up to a quarter more of the bus than without.
constexpr size_t kPrefetchBytes = 4096;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
constexpr size_t kTokens = 3;

/// A nibble left in the top bits of its lane converts to q * 2^28 in one instruction less than q itself takes. A group's sum is then
/// t * 2^28, with the bits of t: sums of small integers times floats lose nothing to underflow, so only overflow could tell.
constexpr float kNibble = 0x1p28f;
/// Activations from here on could overflow 8 * 8 * |x| * 2^28, and take the longer way.
constexpr float kHuge = 0x1p90f;

/// Byte b of each lane in its top bits, the rest zero.
__m256i byte_of_lanes(__m256i v, size_t b) {
  if (b == 3) return _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(0xff000000u)));
  const __m128i lanes =
      _mm_setr_epi8(-128, -128, -128, 0, -128, -128, -128, 4, -128, -128, -128, 8, -128, -128, -128, 12);
  const __m128i at = _mm_add_epi8(lanes, _mm_set1_epi32(static_cast<int>(b) << 24));
  return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(at));
}

template <bool huge>
__m256 to_float(__m256i top_nibbles) {
  const __m256 f = _mm256_cvtepi32_ps(top_nibbles);
  return huge ? _mm256_mul_ps(f, _mm256_set1_ps(1.0f / kNibble)) : f;
}

/// The scales of a block's groups as f32, [8 groups][4 rows].
void convert_scales(const uint8_t* block, float factor, float* scales) {
  for (size_t i = 0; i < kBlockGroups * kPanelRows; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i * sizeof(uint16_t)));
    _mm256_store_ps(scales + i, _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(factor)));
  }
}

/// p += n_groups neighbouring groups of a panel, for n_tokens tokens.
template <size_t n_groups, size_t n_tokens, bool huge>
void add_groups(const uint8_t* w, const float* scales, const float* x, size_t x_stride,
                __m256 (&p)[n_tokens][kPairs]) {
  if constexpr (n_tokens == 1) {
    for (size_t g = 0; g < n_groups; ++g) __builtin_prefetch(w + kPrefetchBytes + g * kGroupBytes, 0, 2);
  }
  const __m256i top = _mm256_set1_epi32(static_cast<int>(0xf0000000u));
  __m256 sum[n_groups][n_tokens][kPairs];
  for (auto& group : sum) {
    for (auto& token : group) {
      for (__m256& pair : token) pair = _mm256_setzero_ps();
    }
  }
#pragma GCC unroll 4
  for (size_t b = 0; b < 4; ++b) {
#pragma GCC unroll 2
    for (size_t g = 0; g < n_groups; ++g) {
      __m256i bytes[kPairs];
#pragma GCC unroll 2
      for (size_t i = 0; i < kPairs; ++i)
        bytes[i] = byte_of_lanes(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + g * kGroupBytes + i * 32)), b);
#pragma GCC unroll 2
      for (size_t half = 0; half < 2; ++half) {
        __m256 weights[kPairs];
#pragma GCC unroll 2
        for (size_t i = 0; i < kPairs; ++i)
          weights[i] =
              to_float<huge>(half == 0 ? _mm256_slli_epi32(bytes[i], 4) : _mm256_and_si256(bytes[i], top));
#pragma GCC unroll 3
        for (size_t t = 0; t < n_tokens; ++t) {
          const __m256 xs = _mm256_broadcast_ps(
              reinterpret_cast<const __m128*>(x + t * x_stride + g * kGroupColumns + b * 8 + half * 4));
#pragma GCC unroll 2
          for (size_t i = 0; i < kPairs; ++i) sum[g][t][i] = _mm256_fmadd_ps(weights[i], xs, sum[g][t][i]);
        }
      }
    }
  }
  const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                second = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
#pragma GCC unroll 2
  for (size_t g = 0; g < n_groups; ++g) {
    const __m256 rows = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(scales + g * kPanelRows));
    const __m256 scale[kPairs] = {_mm256_permutevar_ps(rows, first), _mm256_permutevar_ps(rows, second)};
#pragma GCC unroll 3
    for (size_t t = 0; t < n_tokens; ++t) {
#pragma GCC unroll 2
      for (size_t i = 0; i < kPairs; ++i) p[t][i] = _mm256_fmadd_ps(sum[g][t][i], scale[i], p[t][i]);
    }
  }
}

/// (p0 + p2) + (p1 + p3) of four rows.
__m128 reduce_rows(const __m256 (&p)[kPairs]) {
  __m256 s[kPairs];
  for (size_t i = 0; i < kPairs; ++i) {
    const __m256 halves = _mm256_add_ps(p[i], _mm256_permute_ps(p[i], _MM_SHUFFLE(1, 0, 3, 2)));
    s[i] = _mm256_add_ps(halves, _mm256_permute_ps(halves, _MM_SHUFFLE(2, 3, 0, 1)));
  }
  const __m256 all = _mm256_shuffle_ps(s[0], s[1], 0);
  return _mm_blend_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1), 0b1010);
}

/// One panel times n_tokens tokens. Alone, a token takes two groups at once: their chains of dependent sums hide each other.
template <size_t n_tokens, bool huge>
void multiply(const uint8_t* w, const float* x, size_t x_stride, size_t cols, float* y, size_t y_stride) {
  constexpr size_t kStep = n_tokens == 1 ? 2 : 1;
  __m256 p[n_tokens][kPairs];
  for (auto& token : p) {
    for (__m256& pair : token) pair = _mm256_setzero_ps();
  }
  alignas(32) float scales[kBlockGroups * kPanelRows];
  size_t left = cols / kGroupColumns;
  while (left != 0) {
    convert_scales(w, huge ? 1.0f : 1.0f / kNibble, scales);
    w += layout::kGroupScaleBytes;
    const size_t n = left < kBlockGroups ? left : kBlockGroups;
    size_t g = 0;
    for (; g + kStep <= n; g += kStep) {
      add_groups<kStep, n_tokens, huge>(w, scales + g * kPanelRows, x, x_stride, p);
      w += kStep * kGroupBytes;
      x += kStep * kGroupColumns;
    }
    if (g < n) {
      add_groups<1, n_tokens, huge>(w, scales + g * kPanelRows, x, x_stride, p);
      w += kGroupBytes;
      x += kGroupColumns;
    }
    left -= n;
  }
  for (size_t t = 0; t < n_tokens; ++t) _mm_storeu_ps(y + t * y_stride, reduce_rows(p[t]));
}

bool any_huge(const float* x, size_t x_stride, size_t batch, size_t cols) {
  const __m256 sign = _mm256_set1_ps(-0.0f), bound = _mm256_set1_ps(kHuge);
  __m256 found = _mm256_setzero_ps();
  for (size_t t = 0; t < batch; ++t) {
    for (size_t c = 0; c < cols; c += 8) {
      const __m256 size = _mm256_andnot_ps(sign, _mm256_loadu_ps(x + t * x_stride + c));
      found = _mm256_or_ps(found, _mm256_cmp_ps(size, bound, _CMP_GE_OQ));
    }
  }
  return _mm256_movemask_ps(found) != 0;
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens, bool huge>
void multiply_tile(const uint8_t* w, const float* x, size_t x_stride, size_t cols, size_t panel_begin,
                   size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply<n_tokens, huge>(w + panel * layout::i4_panel_bytes(cols), x, x_stride, cols,
                             y + panel * kPanelRows, y_stride);
}

template <bool huge>
void multiply_tokens(const uint8_t* w, const float* x, size_t x_stride, size_t n_tokens, size_t cols,
                     size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  size_t t = 0;
  for (; t + kTokens <= n_tokens; t += kTokens)
    multiply_tile<kTokens, huge>(w, x + t * x_stride, x_stride, cols, panel_begin, panel_end,
                                 y + t * y_stride, y_stride);
  if (n_tokens - t == 2)
    multiply_tile<2, huge>(w, x + t * x_stride, x_stride, cols, panel_begin, panel_end, y + t * y_stride,
                           y_stride);
  else if (n_tokens - t == 1)
    multiply_tile<1, huge>(w, x + t * x_stride, x_stride, cols, panel_begin, panel_end, y + t * y_stride,
                           y_stride);
}

}  // namespace

void matmul_i4_f32(const uint8_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const bool huge = any_huge(x, x_stride, batch, cols);
  const size_t fitting = kPanelBlockBytes / (layout::i4_panel_bytes(cols) + 1),
               block = fitting == 0 ? 1 : fitting;
  for (size_t panel = panel_begin; panel < panel_end; panel += block) {
    const size_t end = panel_end - panel < block ? panel_end : panel + block;
    (huge ? multiply_tokens<true> : multiply_tokens<false>)(w, x, x_stride, batch, cols, panel, end, y,
                                                            y_stride);
  }
}

}  // namespace spiked::kernels::avx2
