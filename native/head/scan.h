#pragma once
#include "base/aligned.h"
#include "head/settings.h"
#include "threads/pool.h"

namespace spiked::head {

/// One pass over all rows with quantised activations: scores that nothing has verified.
class Scan {
 public:
  explicit Scan(const HeadWeights& weights);

  /// hidden      f32 [D], zero-padded
  /// activations of the products of `scope`; kF32 makes it the full head
  /// logits      f32 [packed rows]
  void run(Pool& pool, const kernels::Kernels& kernels, const float* hidden, ops::Activations activations,
           Scope scope, float* logits, Step& step);

  /// The prior branch's hidden vector of the last run was computed with f32 activations.
  bool prior_exact() const { return prior_exact_; }
  float* prior() { return prior_.data(); }
  float* branch() { return branch_.data(); }
  size_t size_bytes() const;

 private:
  ops::QuantizedRows rows(ops::Activations precision, size_t cols);

  const HeadWeights& w_;
  AlignedArray<float> prior_, branch_;
  AlignedArray<int8_t> q8_;
  AlignedArray<int16_t> q16_;
  float q_scale_ = 1.0f;
  bool prior_exact_ = false;
};

}  // namespace spiked::head
