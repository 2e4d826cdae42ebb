#pragma once
#include <span>
#include <vector>

#include "head/bound.h"
#include "head/output_rows.h"
#include "head/rules.h"
#include "head/settings.h"
#include "threads/pool.h"

namespace spiked::head {

/// Candidate rows with a proof: a first pass over few bits bounds every row's full logit; the rows that could still be among the k best are computed
/// exactly, and the others cannot.
class Certified {
 public:
  Certified(const HeadWeights& weights, const Coarse& coarse, OutputRows& output, unsigned n_workers);

  /// One hidden state.
  ///
  /// hidden  f32 [D], zero-padded
  /// k       how many best rows must be among the survivors, ties with the last of them included
  /// cap     most rows computed exactly; beyond it all are (step.fell_back)
  /// logits  f32 [packed rows]: full's bits for the survivors, for every row when it fell back; others are not written
  ///
  /// Returns the surviving ids, ascending; empty when it fell back. Errors: those of reading the output's rows.
  Result<std::span<const int32_t>> run(Pool& pool, const kernels::Kernels& kernels, const float* hidden,
                                       size_t k, size_t cap, const Rules& rules, float* logits, Step& step);

  /// For tests: bounds become this many times as wide.
  void scale_bound(float scale) { bound_scale_ = scale; }
  size_t size_bytes() const;

 private:
  class Region;

  const HeadWeights& w_;
  const Coarse& coarse_;
  OutputRows& output_;
  float bound_scale_ = 1.0f;
  AlignedArray<float> x_;                     // [c_cols + g_cols]: c, then g
  AlignedArray<int16_t> q_;                   // [c_cols + g_cols]
  AlignedArray<float> along_;                 // [n_directions]
  AlignedArray<double> rest_;                 // [max(c_cols, g_cols)] scratch of the bound
  AlignedArray<float> low_;                   // [rows_padded] first-pass scores, then the lower ends
  AlignedArray<float> high_;                  // [rows_padded] parts along the directions, then the upper ends
  AlignedArray<float> branch_;                // [packed rows], with a dynamic prior
  std::vector<std::vector<float>> best_low_;  // [workers]: each one's k largest lower ends
  std::vector<uint32_t> units_;               // of the output's rows, those with a survivor, ascending
  std::vector<int32_t> survivors_;
};

}  // namespace spiked::head
