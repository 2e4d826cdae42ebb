#pragma once
#include <vector>

#include "head/output_rows.h"
#include "head/rules.h"
#include "head/scan.h"

namespace spiked::head {

/// The paper's method: a first pass with i8 activations, and when its two best scores are closer than a threshold, the K best rows again with
/// f32 activations. Not proved: the true best row may be outside the K.
class Gate {
 public:
  Gate(const HeadWeights& weights, OutputRows& output);

  /// hidden  f32 [D], zero-padded; logits f32 [packed rows]: the first pass's, the K best replaced by full's bits when triggered.
  void run(Pool& pool, const kernels::Kernels& kernels, const float* hidden, const Settings& settings,
           const Rules& rules, float* logits, Step& step);

  size_t size_bytes() const { return scan_.size_bytes() + exact_.size() * sizeof(float); }

 private:
  struct Row {
    int32_t id;
    float score;
  };
  /// The n best rows under the rules, best first, the lower id among equals; fewer when there are fewer.
  void best_rows(const float* logits, const Rules& rules, size_t n);
  void verify(Pool& pool, const kernels::Kernels& kernels, const float* hidden, float* logits, Step& step);

  const HeadWeights& w_;
  OutputRows& output_;
  Scan scan_;
  AlignedArray<float> exact_;  // [packed rows]
  std::vector<Row> rows_;
  std::vector<uint32_t> panels_;
};

}  // namespace spiked::head
