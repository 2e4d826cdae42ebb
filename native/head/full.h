#pragma once
#include "base/aligned.h"
#include "head/output_rows.h"
#include "ops/linear.h"
#include "tensor/matrix.h"
#include "threads/pool.h"

namespace spiked::head {

/// Hidden states a full head computes together.
inline constexpr size_t kMaxRows = 8;

/// The full head, f32 activations over the stored weights: the reference for every other head.
///
/// logits = W_o c + p * W_2 GELU(W_1 c), or W_o c + p * log_prior without a dynamic prior, or W_o c without any.
class Full {
 public:
  Full(const HeadWeights& weights, OutputRows& rows);

  /// Logits of n (<= kMaxRows) hidden states. Errors: those of reading the output's rows, where they are not in memory.
  ///
  /// hidden  f32 [n, hidden_stride], zero from D to the padded column
  /// out     f32 [n, logits_stride()], raw
  Status run(Pool& pool, const kernels::Kernels& k, const float* hidden, size_t hidden_stride, size_t n,
             float* out);

  /// The prior branch's hidden vectors of the last run, f32 [n, prior_stride()]; null without a dynamic prior.
  const float* prior() const { return prior_.data(); }
  size_t prior_stride() const { return prior_stride_; }
  /// Floats between two rows of logits: V padded to a panel.
  size_t logits_stride() const { return w_.output.packed.rows; }
  /// Least bytes that one run reads.
  size_t logical_bytes() const;
  size_t size_bytes() const { return (prior_.size() + branch_.size()) * sizeof(float); }

 private:
  const HeadWeights& w_;
  OutputRows& rows_;
  size_t prior_stride_ = 0;
  AlignedArray<float> prior_;   // [kMaxRows, D/4] padded
  AlignedArray<float> branch_;  // [kMaxRows, V] padded
};

}  // namespace spiked::head
