#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

/// Columns added in int16 before they widen to int32: 8 * 128 is far below 2^15, and eight streams still prefetch well.
constexpr size_t kColumns = 8;
/// Rows of one visit: their int32 sums take 4 KiB of L1.
constexpr size_t kRows = 1024;

void add_i16(__m256i sums, int32_t* acc) {
  const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sums));
  const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sums, 1));
  __m256i* a = reinterpret_cast<__m256i*>(acc);
  _mm256_store_si256(a, _mm256_add_epi32(_mm256_load_si256(a), low));
  _mm256_store_si256(a + 1, _mm256_add_epi32(_mm256_load_si256(a + 1), high));
}

__m256i load_i16(const int8_t* w) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
}

/// acc[r] += columns[0][r] + ... + columns[n - 1][r] for n <= kColumns.
template <bool full>
void add_columns(const int8_t* const (&columns)[kColumns], size_t n, const int8_t* const (&next)[kColumns],
                 size_t n_rows, int32_t* acc) {
  const size_t n_columns = full ? kColumns : n;
  for (size_t r = 0; r < n_rows; r += 64) {
    // Active columns lie apart, so only we know what comes next.
    for (size_t i = 0; i < kColumns; ++i) __builtin_prefetch(next[i] + r);
    __m256i sums[4] = {};
    for (size_t i = 0; i < n_columns; ++i) {
      for (size_t k = 0; k < 4; ++k) sums[k] = _mm256_add_epi16(sums[k], load_i16(columns[i] + r + 16 * k));
    }
    for (size_t k = 0; k < 4; ++k) add_i16(sums[k], acc + r + 16 * k);
  }
}

}  // namespace

void column_sum_i8(const int8_t* w, const float* scale, size_t rows_padded, const uint32_t* active,
                   size_t n_active, size_t row_begin, size_t row_end, float* y) {
  alignas(32) int32_t acc[kRows];
  const int8_t* columns[kColumns];
  const int8_t* next[kColumns];
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    const size_t n_rows = row_end - begin < kRows ? row_end - begin : kRows;
    for (size_t r = 0; r < n_rows; r += 8) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(acc + r), _mm256_setzero_si256());
    }
    for (size_t i = 0; i < n_active; i += kColumns) {
      const size_t n = n_active - i < kColumns ? n_active - i : kColumns;
      for (size_t k = 0; k < kColumns; ++k) {
        columns[k] = w + active[i + (k < n ? k : 0)] * rows_padded + begin;
        next[k] =
            i + kColumns + k < n_active ? w + active[i + kColumns + k] * rows_padded + begin : columns[k];
      }
      if (n == kColumns) {
        add_columns<true>(columns, n, next, n_rows, acc);
      } else {
        add_columns<false>(columns, n, next, n_rows, acc);
      }
    }
    for (size_t r = 0; r < n_rows; r += 8) {
      const __m256 sum = _mm256_cvtepi32_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(acc + r)));
      _mm256_storeu_ps(y + begin + r, _mm256_mul_ps(_mm256_loadu_ps(scale + begin + r), sum));
    }
  }
}

}  // namespace spiked::kernels::avx2
