#pragma once
#include "kernels/kernels.h"

namespace spiked::ops {

/// Heads that one call should have at most, where as many share a KV head: the kernels gain nothing by more, and each needs its scores.
inline constexpr size_t kHeadsTogether = 4;

/// Where the keys and values of some heads lie: row of slot s at keys + s * stride.
struct KvView {
  const float *keys, *values;
  size_t stride;
};

struct KvViewF16 {
  const uint16_t *keys, *values;
  size_t stride;
};

/// y[h] = sum_i softmax(q[h] . k_i * factor) v_i over the keys in `slots`, in that order, for n_heads that share keys and values.
///
/// q, y    f32 [n_heads, head_dim]
/// slots   [n_keys], n_keys >= 1, in position order
/// scores  f32 [n_heads, n_keys], scratch
inline void attend(const kernels::Kernels& k, const float* q, size_t n_heads, const KvView& kv,
                   const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores,
                   float* y) {
  k.attend_scores(q, n_heads, kv.keys, kv.stride, slots, n_keys, head_dim, factor, scores);
  for (size_t h = 0; h < n_heads; ++h) k.softmax(scores + h * n_keys, n_keys);
  k.attend_values(scores, n_heads, kv.values, kv.stride, slots, n_keys, head_dim, y);
}

/// The same over f16 keys and values.
inline void attend(const kernels::Kernels& k, const float* q, size_t n_heads, const KvViewF16& kv,
                   const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores,
                   float* y) {
  k.attend_scores_f16(q, n_heads, kv.keys, kv.stride, slots, n_keys, head_dim, factor, scores);
  for (size_t h = 0; h < n_heads; ++h) k.softmax(scores + h * n_keys, n_keys);
  k.attend_values_f16(scores, n_heads, kv.values, kv.stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::ops
