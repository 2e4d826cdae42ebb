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
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
/// Into L2. Measured with one token: up to a quarter more of the bus than without.
constexpr size_t kPrefetchBytes = 4096;

/// The scales of a block's groups as f32, [8 groups][4 rows].
void convert_scales(const uint8_t* block, float* scales) {
  for (size_t i = 0; i < kBlockGroups * kPanelRows; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i * sizeof(uint16_t)));
    _mm256_store_ps(scales + i, _mm256_cvtph_ps(half));
  }
}

/// A group's activations as a 4-bit lane's halves meet them: pair j of lane l is columns 4j + l and 4j + 16 + l.
struct Activations {
  __m256i pairs[4];
};

Activations arrange(const int16_t* q) {
  const auto* at = reinterpret_cast<const __m128i*>(q);
  const __m256i a = _mm256_broadcastsi128_si256(_mm_loadu_si128(at)),
                b = _mm256_broadcastsi128_si256(_mm_loadu_si128(at + 1)),
                c = _mm256_broadcastsi128_si256(_mm_loadu_si128(at + 2)),
                d = _mm256_broadcastsi128_si256(_mm_loadu_si128(at + 3));
  return {{_mm256_unpacklo_epi16(a, c), _mm256_unpackhi_epi16(a, c), _mm256_unpacklo_epi16(b, d),
           _mm256_unpackhi_epi16(b, d)}};
}

/// The int32 sums of two rows' lanes: nibbles j and j + 4 of a lane are the tops of its halves after one shift.
template <size_t n_tokens>
void multiply_pair(__m256i v, const Activations (&x)[n_tokens], __m256i (&sum)[n_tokens]) {
  const __m256i w[4] = {_mm256_srai_epi16(_mm256_slli_epi16(v, 12), 12),
                        _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 12),
                        _mm256_srai_epi16(_mm256_slli_epi16(v, 4), 12), _mm256_srai_epi16(v, 12)};
#pragma GCC unroll 2
  for (size_t t = 0; t < n_tokens; ++t) {
    const __m256i low =
        _mm256_add_epi32(_mm256_madd_epi16(w[0], x[t].pairs[0]), _mm256_madd_epi16(w[1], x[t].pairs[1]));
    const __m256i high =
        _mm256_add_epi32(_mm256_madd_epi16(w[2], x[t].pairs[2]), _mm256_madd_epi16(w[3], x[t].pairs[3]));
    sum[t] = _mm256_add_epi32(low, high);
  }
}

/// p += one group of a panel, for n_tokens tokens.
template <size_t n_tokens>
void add_group(const uint8_t* w, const float* scales, const int16_t* q, size_t q_stride,
               __m256 (&p)[n_tokens][kPairs]) {
  if constexpr (n_tokens == 1) __builtin_prefetch(w + kPrefetchBytes, 0, 2);
  const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                second = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  const __m256 rows = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(scales));
  const __m256 scale[kPairs] = {_mm256_permutevar_ps(rows, first), _mm256_permutevar_ps(rows, second)};
  Activations x[n_tokens];
#pragma GCC unroll 2
  for (size_t t = 0; t < n_tokens; ++t) x[t] = arrange(q + t * q_stride);
#pragma GCC unroll 2
  for (size_t i = 0; i < kPairs; ++i) {
    __m256i sum[n_tokens];
    multiply_pair<n_tokens>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + i * 32)), x, sum);
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t)
      p[t][i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), scale[i], p[t][i]);
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

template <size_t n_tokens>
void multiply(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t cols,
              float* y, size_t y_stride) {
  __m256 p[n_tokens][kPairs];
  for (auto& token : p) {
    for (__m256& pair : token) pair = _mm256_setzero_ps();
  }
  alignas(32) float scales[kBlockGroups * kPanelRows];
  size_t left = cols / kGroupColumns;
  while (left != 0) {
    convert_scales(w, scales);
    w += layout::kGroupScaleBytes;
    const size_t n = left < kBlockGroups ? left : kBlockGroups;
    for (size_t g = 0; g < n; ++g) {
      add_group<n_tokens>(w, scales + g * kPanelRows, q, q_stride, p);
      w += kGroupBytes;
      q += kGroupColumns;
    }
    left -= n;
  }
  for (size_t t = 0; t < n_tokens; ++t)
    _mm_storeu_ps(y + t * y_stride, _mm_mul_ps(reduce_rows(p[t]), _mm_set1_ps(q_scale[t])));
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens>
void multiply_tile(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply<n_tokens>(w + panel * layout::i4_panel_bytes(cols), q, q_scale, q_stride, cols,
                       y + panel * kPanelRows, y_stride);
}

}  // namespace

void matmul_i4_i16(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride, size_t batch,
                   size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const size_t fitting = kPanelBlockBytes / (layout::i4_panel_bytes(cols) + 1),
               block = fitting == 0 ? 1 : fitting;
  for (size_t panel = panel_begin; panel < panel_end; panel += block) {
    const size_t end = panel_end - panel < block ? panel_end : panel + block;
    size_t t = 0;
    for (; t + 2 <= batch; t += 2)
      multiply_tile<2>(w, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
    if (t < batch)
      multiply_tile<1>(w, q + t * q_stride, q_scale + t, q_stride, cols, panel, end, y + t * y_stride,
                       y_stride);
  }
}

}  // namespace spiked::kernels::avx2
