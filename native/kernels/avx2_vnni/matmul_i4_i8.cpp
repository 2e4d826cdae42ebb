#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2_vnni {
namespace {

using layout::kBlockGroups;
using layout::kGroupBytes;
using layout::kGroupColumns;
using layout::kPanelRows;

/// Two neighbouring rows of a group fill a register.
constexpr size_t kPairs = kPanelRows / 2;
/// Weights that a batch goes through tile by tile: they should stay in L2.
constexpr size_t kPanelBlockBytes = 128 * 1024;
constexpr size_t kPageBytes = 4096;
/// One token's activations are arranged once for all panels, up to so many columns: 20 KB of L1 at 6,912.
constexpr size_t kArrangedGroups = 16384 / kGroupColumns;

/// The scales of a block's groups as f32, [8 groups][4 rows].
void convert_scales(const uint8_t* block, float* scales) {
  for (size_t i = 0; i < kBlockGroups * kPanelRows; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i * sizeof(uint16_t)));
    _mm256_store_ps(scales + i, _mm256_cvtph_ps(half));
  }
}

/// A group's activations as the nibbles of a 4-bit lane's four bytes meet them: byte b of lane l is column 8b + l, and 8b + 4 + l.
struct Activations {
  __m256i low, high;
  __m256i
      offset;  ///< -8 * the sum of the lane's eight columns: what nibbles stored as q + 8 give too much, taken off
};

Activations arrange(const int8_t* q) {
  const __m256i transposed =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const auto* at = reinterpret_cast<const __m128i*>(q);
  const __m256 a = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(_mm_loadu_si128(at))),
               b = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(_mm_loadu_si128(at + 1)));
  const __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
  const __m256i low = _mm256_shuffle_epi8(even, transposed), high = _mm256_shuffle_epi8(odd, transposed);
  const __m256i eight = _mm256_set1_epi8(8), zero = _mm256_setzero_si256();
  const __m256i sums = _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(zero, eight, low), eight, high);
  return {low, high, _mm256_sub_epi32(zero, sums)};
}

/// The int32 sums of two rows' lanes; as q + 8 a nibble is unsigned.
template <size_t n_tokens>
void multiply_pair(__m256i v, const Activations (&x)[n_tokens], __m256i (&sum)[n_tokens]) {
  const __m256i nibble = _mm256_set1_epi8(0x0f);
  const __m256i u = _mm256_xor_si256(v, _mm256_set1_epi8(static_cast<char>(0x88)));
  const __m256i low = _mm256_and_si256(u, nibble), high = _mm256_and_si256(_mm256_srli_epi16(u, 4), nibble);
#pragma GCC unroll 2
  for (size_t t = 0; t < n_tokens; ++t)
    sum[t] = _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(x[t].offset, low, x[t].low), high, x[t].high);
}

/// p += one group of a panel, for n_tokens tokens.
template <size_t n_tokens>
void add_group(const uint8_t* w, const float* scales, const Activations (&x)[n_tokens],
               __m256 (&p)[n_tokens][kPairs]) {
  if constexpr (n_tokens == 1) {
    // As in matmul_t2_i8: a line of the next page starts the hardware's fetching ahead there.
    if (reinterpret_cast<uintptr_t>(w) % kPageBytes < kGroupBytes) __builtin_prefetch(w + kPageBytes, 0, 2);
  }
  const __m256i first = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                second = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  const __m256 rows = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(scales));
  const __m256 scale[kPairs] = {_mm256_permutevar_ps(rows, first), _mm256_permutevar_ps(rows, second)};
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

/// One panel. next(x): the activations of the first group, then of those after it.
template <size_t n_tokens, typename Next>
void multiply(const uint8_t* w, Next next, const float* q_scale, size_t cols, float* y, size_t y_stride) {
  __m256 p[n_tokens][kPairs];
  for (auto& token : p) {
    for (__m256& pair : token) pair = _mm256_setzero_ps();
  }
  alignas(32) float scales[kBlockGroups * kPanelRows];
  const size_t n_groups = cols / kGroupColumns;
  for (size_t g = 0; g < n_groups;) {
    convert_scales(w, scales);
    w += layout::kGroupScaleBytes;
    const size_t end = n_groups - g < kBlockGroups ? n_groups : g + kBlockGroups;
    for (const float* rows = scales; g < end; ++g, rows += kPanelRows, w += kGroupBytes) {
      Activations x[n_tokens];
      next(x);
      add_group<n_tokens>(w, rows, x, p);
    }
  }
  for (size_t t = 0; t < n_tokens; ++t)
    _mm_storeu_ps(y + t * y_stride, _mm_mul_ps(reduce_rows(p[t]), _mm_set1_ps(q_scale[t])));
}

/// Every panel of a block for one tile of tokens: its activations stay in L1, the block in L2.
template <size_t n_tokens>
void multiply_tile(const uint8_t* w, const int8_t* q, const float* q_scale, size_t q_stride, size_t cols,
                   size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  const auto arranged = [q, q_stride](Activations(&x)[n_tokens]) mutable {
#pragma GCC unroll 2
    for (size_t t = 0; t < n_tokens; ++t) x[t] = arrange(q + t * q_stride);
    q += kGroupColumns;
  };
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply<n_tokens>(w + panel * layout::i4_panel_bytes(cols), arranged, q_scale, cols,
                       y + panel * kPanelRows, y_stride);
}

/// All panels for one token.
void multiply_token(const uint8_t* w, const int8_t* q, const float* q_scale, size_t cols, size_t panel_begin,
                    size_t panel_end, float* y) {
  Activations arranged[kArrangedGroups];
  for (size_t g = 0; g < cols / kGroupColumns; ++g) arranged[g] = arrange(q + g * kGroupColumns);
  const auto kept = [at = arranged](Activations(&x)[1]) mutable { x[0] = *at++; };
  for (size_t panel = panel_begin; panel < panel_end; ++panel)
    multiply<1>(w + panel * layout::i4_panel_bytes(cols), kept, q_scale, cols, y + panel * kPanelRows, 0);
}

}  // namespace

void matmul_i4_i8(const uint8_t* w, const int8_t* q, const float* q_scale, size_t q_stride, size_t batch,
                  size_t cols, size_t panel_begin, size_t panel_end, float* y, size_t y_stride) {
  if (batch == 1 && cols / kGroupColumns <= kArrangedGroups)
    return multiply_token(w, q, q_scale, cols, panel_begin, panel_end, y);
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

}  // namespace spiked::kernels::avx2_vnni
