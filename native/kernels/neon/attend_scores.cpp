#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

float tree(const float (&p)[8]) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

/// Keys walked at once: one key alone would wait for the latency of its FMA chains.
constexpr size_t kKeys = 4;

template <size_t n>
void score_keys(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t head_dim,
                float factor, float* scores) {
  const float* keys[n];
  float32x4_t p[n][2];
  for (size_t i = 0; i < n; ++i) {
    keys[i] = k + slots[i] * k_stride;
    p[i][0] = p[i][1] = vdupq_n_f32(0.0f);
  }
  const size_t whole = head_dim / 8 * 8;
  for (size_t c = 0; c < whole; c += 8) {
    const float32x4_t low = vld1q_f32(q + c), high = vld1q_f32(q + c + 4);
    for (size_t i = 0; i < n; ++i) {
      p[i][0] = vfmaq_f32(p[i][0], low, vld1q_f32(keys[i] + c));
      p[i][1] = vfmaq_f32(p[i][1], high, vld1q_f32(keys[i] + c + 4));
    }
  }
  for (size_t i = 0; i < n; ++i) {
    float sums[8];
    vst1q_f32(sums, p[i][0]);
    vst1q_f32(sums + 4, p[i][1]);
    for (size_t c = whole; c < head_dim; ++c) {
      sums[c - whole] = __builtin_fmaf(q[c], keys[i][c], sums[c - whole]);
    }
    scores[i] = tree(sums) * factor;
  }
}

}  // namespace

void attend_scores(const float* q, const float* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
                   size_t head_dim, float factor, float* scores) {
  size_t i = 0;
  for (; i + kKeys <= n_keys; i += kKeys) {
    score_keys<kKeys>(q, k, k_stride, slots + i, head_dim, factor, scores + i);
  }
  for (; i < n_keys; ++i) score_keys<1>(q, k, k_stride, slots + i, head_dim, factor, scores + i);
}

}  // namespace spiked::kernels::neon
