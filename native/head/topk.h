#pragma once
#include <span>
#include <vector>

#include "head/coarse.h"
#include "head/output_rows.h"
#include "head/rules.h"
#include "head/settings.h"
#include "threads/pool.h"

namespace spiked::head {

/// Rows of a block of which the best are kept, whatever the number of workers.
inline constexpr size_t kBlockRows = 4096;

/// The rows that a scan of a coarse table with i8 activations ranks best, computed exactly: of every block the k best by score, the lower id
/// among equals. Not proved: the true best row may be none of them. For weights without a prior.
class TopK {
 public:
  TopK(const HeadWeights& weights, const Coarse& coarse, OutputRows& output, unsigned n_workers);

  /// One hidden state.
  ///
  /// hidden  f32 [D], zero-padded
  /// k       1 to kBlockRows
  /// logits  f32 [packed rows]: full's bits for the rows that are returned; others are not written
  ///
  /// Returns ids, ascending; none when every row is banned or its score is not finite. Errors: those of reading the output's rows.
  Result<std::span<const int32_t>> run(Pool& pool, const kernels::Kernels& kernels, const float* hidden,
                                       size_t k, const Rules& rules, float* logits, Step& step);

  size_t size_bytes() const;

 private:
  struct Row {
    int32_t id;
    float score;
  };
  static bool before(const Row& a, const Row& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  }
  void keep_best(size_t block, size_t k, const Rules& rules, std::vector<Row>& best);
  void gather(size_t k, Step& step);

  const HeadWeights& w_;
  const Coarse& coarse_;
  OutputRows& output_;
  AlignedArray<int8_t> q_;      // [table columns]
  AlignedArray<float> scores_;  // [table rows]
  std::vector<std::vector<Row>> best_of_worker_;
  std::vector<Row> kept_;       // [blocks, k]
  std::vector<size_t> n_kept_;  // [blocks]
  std::vector<int32_t> ids_;
};

}  // namespace spiked::head
