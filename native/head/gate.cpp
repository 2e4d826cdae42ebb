#include "head/gate.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "head/rows.h"

namespace spiked::head {

Gate::Gate(const HeadWeights& weights, OutputRows& output)
    : w_(weights), output_(output), scan_(weights), exact_(weights.output.packed.rows) {}

void Gate::best_rows(const float* logits, const Rules& rules, size_t n) {
  const auto before = [](const Row& a, const Row& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  };
  rows_.clear();  // a heap with the worst of the best on top
  for (size_t r = 0; r < rules.valid; ++r) {
    const Row row{static_cast<int32_t>(r), rules.apply(r, logits[r])};
    if (row.score == kNever) continue;
    if (rows_.size() == n) {
      if (!before(row, rows_.front())) continue;
      std::pop_heap(rows_.begin(), rows_.end(), before);
      rows_.pop_back();
    }
    rows_.push_back(row);
    std::push_heap(rows_.begin(), rows_.end(), before);
  }
  std::sort_heap(rows_.begin(), rows_.end(), before);
}

void Gate::run(Pool& pool, const kernels::Kernels& kernels, const float* hidden, const Settings& settings,
               const Rules& rules, float* logits, Step& step) {
  scan_.run(pool, kernels, hidden, ops::Activations::kI8, settings.scope, logits, step);
  step.mode = Mode::kGate;
  step.proved = false;
  Clock clock(true);
  best_rows(logits, rules, std::max<size_t>(settings.k, 2));
  step.gap = rows_.size() < 2 ? std::numeric_limits<float>::infinity() : rows_[0].score - rows_[1].score;
  step.id_before = rows_.empty() ? -1 : rows_[0].id;
  step.triggered = step.gap < settings.threshold;
  if (step.triggered) {
    rows_.resize(std::min<size_t>(rows_.size(), settings.k));
    panels_.clear();
    for (const Row& row : rows_) panels_.push_back(static_cast<uint32_t>(row.id) / layout::kPanelRows);
    std::sort(panels_.begin(), panels_.end());
    panels_.erase(std::unique(panels_.begin(), panels_.end()), panels_.end());
  }
  step.selection_ns = clock.lap();
  if (!step.triggered) return;
  verify(pool, kernels, hidden, logits, step);
  step.verification_ns = clock.lap();
}

void Gate::verify(Pool& pool, const kernels::Kernels& kernels, const float* hidden, float* logits,
                  Step& step) {
  pool.run([&](Team& team) {
    if (!scan_.prior_exact()) {
      prior_hidden(kernels, w_, team, hidden, scan_.prior());
      team.barrier();
    }
    team.split(panels_.size(), 1, kUnitsAtOnce, [&](const Range& mine) {
      for (size_t i = mine.begin; i < mine.end; ++i) {
        const size_t row = panels_[i] * layout::kPanelRows;
        score_rows(kernels, w_, output_, team.index(), hidden, scan_.prior(), {row, row + layout::kPanelRows},
                   exact_.data(), scan_.branch());
      }
    });
  });
  for (const Row& row : rows_) logits[row.id] = exact_[static_cast<size_t>(row.id)];
  step.rows = static_cast<uint32_t>(rows_.size());
  step.bytes += panels_.size() * layout::kPanelRows * row_bytes(w_);
}

}  // namespace spiked::head
