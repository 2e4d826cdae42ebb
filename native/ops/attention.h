#pragma once
#include "kernels/kernels.h"

namespace spiked::ops {

/// Where a head's keys and values lie: row of slot s at keys + s * stride.
struct KvView {
  const float *keys, *values;
  size_t stride;
};

struct KvViewF16 {
  const uint16_t *keys, *values;
  size_t stride;
};

/// y = sum_i softmax(q . k_i * factor) v_i over the keys in `slots`, in that order; one head.
///
/// q, y    f32 [head_dim]
/// slots   [n_keys], n_keys >= 1, in position order
/// scores  f32 [n_keys], scratch
inline void attend(const kernels::Kernels& k, const float* q, const KvView& kv, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float factor, float* scores, float* y) {
  k.attend_scores(q, kv.keys, kv.stride, slots, n_keys, head_dim, factor, scores);
  k.softmax(scores, n_keys);
  k.attend_values(scores, kv.values, kv.stride, slots, n_keys, head_dim, y);
}

/// The same over f16 keys and values.
inline void attend(const kernels::Kernels& k, const float* q, const KvViewF16& kv, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float factor, float* scores, float* y) {
  k.attend_scores_f16(q, kv.keys, kv.stride, slots, n_keys, head_dim, factor, scores);
  k.softmax(scores, n_keys);
  k.attend_values_f16(scores, kv.values, kv.stride, slots, n_keys, head_dim, y);
}

}  // namespace spiked::ops
