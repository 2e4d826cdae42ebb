#include "head/topk.h"

#include <algorithm>

#include "base/clock.h"
#include "head/rows.h"
#include "ops/linear.h"

namespace spiked::head {

TopK::TopK(const HeadWeights& weights, const Coarse& coarse, OutputRows& output, unsigned n_workers)
    : w_(weights),
      coarse_(coarse),
      output_(output),
      q_(round_up(coarse.table.packed.cols, layout::kActivationPad)),
      scores_(coarse.table.packed.rows),
      best_of_worker_(n_workers),
      n_kept_((weights.output.rows + kBlockRows - 1) / kBlockRows) {}

// The k best rows of a block under the rules, in any order: `best` is a heap with the worst of them on top.
void TopK::keep_best(size_t block, size_t k, const Rules& rules, std::vector<Row>& best) {
  best.clear();
  const size_t end = std::min((block + 1) * kBlockRows, rules.valid);
  for (size_t r = block * kBlockRows; r < end; ++r) {
    const float score = rules.apply(r, scores_[r]);
    // Ids ascend, so of equal scores the later ones lose; a score that is not a number is none.
    if (best.size() == k ? !(score > best.front().score) : !(score > kNever)) continue;
    if (best.size() == k) {
      std::pop_heap(best.begin(), best.end(), before);
      best.pop_back();
    }
    best.push_back({static_cast<int32_t>(r), score});
    std::push_heap(best.begin(), best.end(), before);
  }
  std::copy(best.begin(), best.end(), kept_.begin() + static_cast<std::ptrdiff_t>(block * k));
  n_kept_[block] = best.size();
}

void TopK::gather(size_t k, Step& step) {
  Row first{-1, kNever};
  for (size_t block = 0; block < n_kept_.size(); ++block)
    for (size_t i = 0; i < n_kept_[block]; ++i) {
      const Row& row = kept_[block * k + i];
      ids_.push_back(row.id);
      if (before(row, first)) first = row;
    }
  std::sort(ids_.begin(), ids_.end());
  step.id_before = first.id;
}

Result<std::span<const int32_t>> TopK::run(Pool& pool, const kernels::Kernels& kernels, const float* hidden,
                                           size_t k, const Rules& rules, float* logits, Step& step) {
  // The region must not allocate.
  kept_.resize(n_kept_.size() * k);
  ids_.clear();
  ids_.reserve(kept_.size());
  for (auto& best : best_of_worker_) best.reserve(k);
  float q_scale = 1.0f;
  const ops::QuantizedRows rows{ops::Activations::kI8, q_.data(), nullptr, &q_scale, q_.size()};
  ops::quantize(kernels, hidden, 0, 1, w_.output.cols, rows);
  pool.run([&](Team& team) {
    const bool first = team.index() == 0;
    Clock clock(first);
    split_rows(team, coarse_.table, [&](const Range& panels) {
      ops::linear(kernels, coarse_.table, rows, 1, panels.begin, panels.end, scores_.data(), 0);
    });
    team.barrier();
    if (first) step.projection_ns = clock.lap();
    team.split(n_kept_.size(), 1, 1, [&](const Range& blocks) {
      for (size_t b = blocks.begin; b < blocks.end; ++b)
        keep_best(b, k, rules, best_of_worker_[team.index()]);
    });
    team.barrier();
    if (first) gather(k, step);
    team.barrier();
    if (first) step.selection_ns = clock.lap();
    team.split(ids_.size(), 1, kUnitsAtOnce, [&](const Range& mine) {
      for (size_t i = mine.begin; i < mine.end; ++i) {
        const auto row = static_cast<size_t>(ids_[i]);
        score_rows(kernels, w_, output_, team.index(), hidden, nullptr, {row, row + 1}, logits, nullptr);
      }
    });
    team.barrier();
    if (first) step.verification_ns = clock.lap();
  });
  SPIKED_TRY(output_.end());
  step.mode = Mode::kTopK;
  step.rows = static_cast<uint32_t>(ids_.size());
  step.bytes = coarse_.table_bytes(w_.output.rows) + ids_.size() * row_bytes(w_);
  return std::span<const int32_t>(ids_);
}

size_t TopK::size_bytes() const {
  // With room for as many rows as a request can ask for.
  const size_t rows = n_kept_.size() * kBlockRows;
  return q_.size() + scores_.size() * sizeof(float) + rows * (sizeof(Row) + sizeof(int32_t)) +
         best_of_worker_.size() * kBlockRows * sizeof(Row);
}

}  // namespace spiked::head
