#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::avx2 {
namespace {

/// Columns added side by side: their sum meets the sums in L1 once, and the fetches of four columns are under way together.
constexpr size_t kColumns = 4;
/// Columns added in int16 before they widen to int32: 252 * 128 < 2^15.
constexpr size_t kGroup = 252;
/// Rows of one visit: their int16 and int32 sums take 12 KiB of L1.
constexpr size_t kRows = 2048;
/// Active columns lie apart, so only we know what comes next: the lines this far ahead in the walk are fetched into L2, which
/// has room for more fetches under way than L1 (measured, share of a plain read: 0.25 to 0.3 so, 0.45 to 0.5 four columns at once).
constexpr size_t kPrefetchBytes = 16384;
constexpr size_t kLineBytes = 64;

__m256i* at(int16_t* sums) { return reinterpret_cast<__m256i*>(sums); }
__m256i* at(int32_t* sums) { return reinterpret_cast<__m256i*>(sums); }

__m256i load(const int8_t* w) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
}

/// sums += n columns; `next` are the columns to fetch meanwhile.
template <size_t n>
void add_columns(const int8_t* const (&columns)[n], const int8_t* const (&next)[n], size_t n_rows,
                 int16_t* sums) {
  for (size_t r = 0; r < n_rows; r += kLineBytes) {
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(next[i] + r, 0, 2);
#pragma GCC unroll 4
    for (size_t k = r; k < r + kLineBytes; k += 16) {
      __m256i sum = _mm256_load_si256(at(sums + k));
#pragma GCC unroll 4
      for (size_t i = 0; i < n; ++i) sum = _mm256_add_epi16(sum, load(columns[i] + k));
      _mm256_store_si256(at(sums + k), sum);
    }
  }
}

/// totals += sums; sums = 0.
void widen(int16_t* sums, int32_t* totals, size_t n_rows) {
  for (size_t r = 0; r < n_rows; r += 16) {
    const __m256i group = _mm256_load_si256(at(sums + r));
    const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(group));
    const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(group, 1));
    _mm256_store_si256(at(totals + r), _mm256_add_epi32(_mm256_load_si256(at(totals + r)), low));
    _mm256_store_si256(at(totals + r + 8), _mm256_add_epi32(_mm256_load_si256(at(totals + r + 8)), high));
    _mm256_store_si256(at(sums + r), _mm256_setzero_si256());
  }
}

}  // namespace

void column_sum_i8(const int8_t* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                   size_t row_begin, size_t row_end, int32_t* out) {
  alignas(32) int16_t sums[kRows];
  alignas(32) int32_t totals[kRows];
  for (size_t begin = row_begin; begin < row_end; begin += kRows) {
    const size_t n_rows = row_end - begin < kRows ? row_end - begin : kRows;
    for (size_t r = 0; r < n_rows; r += 16) {
      _mm256_store_si256(at(sums + r), _mm256_setzero_si256());
      _mm256_store_si256(at(totals + r), _mm256_setzero_si256());
      _mm256_store_si256(at(totals + r + 8), _mm256_setzero_si256());
    }
    const size_t ahead = (kPrefetchBytes + n_rows - 1) / n_rows;
    const auto column = [&](size_t i) { return w + active[i] * rows_padded + begin; };
    const auto later = [&](size_t i) { return column(i + ahead < n_active ? i + ahead : i); };
    size_t i = 0;
    while (i + kColumns <= n_active) {
      const size_t end = n_active - i < kGroup ? n_active : i + kGroup;
      for (; i + kColumns <= end; i += kColumns)
        add_columns<kColumns>({column(i), column(i + 1), column(i + 2), column(i + 3)},
                              {later(i), later(i + 1), later(i + 2), later(i + 3)}, n_rows, sums);
      widen(sums, totals, n_rows);
    }
    for (; i < n_active; ++i) add_columns<1>({column(i)}, {later(i)}, n_rows, sums);
    widen(sums, totals, n_rows);
    for (size_t r = 0; r < n_rows; r += 8)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + begin + r), _mm256_load_si256(at(totals + r)));
  }
}

}  // namespace spiked::kernels::avx2
