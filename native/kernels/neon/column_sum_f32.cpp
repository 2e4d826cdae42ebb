#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/layout.h"

namespace spiked::kernels::neon {
namespace {

/// Active columns lie apart, so only we know what comes next: the line this far ahead in the walk is fetched into L2, which
/// has room for more fetches under way than L1.
constexpr size_t kPrefetchFloats = 1024;
constexpr size_t kLineFloats = 16;

}  // namespace

void column_sum_f32(const float* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                    size_t row_begin, size_t row_end, float* y) {
  for (size_t r = row_begin; r < row_end; r += 4) vst1q_f32(y + r, vdupq_n_f32(0.0f));
  if (row_begin == row_end) return;
  const size_t ahead = (kPrefetchFloats + row_end - row_begin - 1) / (row_end - row_begin);
  // One column after the other keeps one stream on the bus; the sums stay in L1.
  for (size_t i = 0; i < n_active; ++i) {
    const float* column = w + active[i] * rows_padded;
    const float* next = w + active[i + ahead < n_active ? i + ahead : i] * rows_padded;
    for (size_t r = row_begin; r < row_end; r += kLineFloats) {
      __builtin_prefetch(next + r, 0, 2);
#pragma GCC unroll 4
      for (size_t k = r; k < r + kLineFloats; k += 4) {
        vst1q_f32(y + k, vaddq_f32(vld1q_f32(y + k), vld1q_f32(column + k)));
      }
    }
  }
}

}  // namespace spiked::kernels::neon
