#include "head/rows.h"

#include "ops/elementwise.h"
#include "ops/linear.h"

namespace spiked::head {

void prior_hidden(const kernels::Kernels& k, const HeadWeights& w, Team& team, const float* hidden,
                  float* prior) {
  if (!w.has_dynamic_prior()) return;
  split_rows(team, w.prior_in, [&](const Range& panels) {
    ops::linear(k, w.prior_in, hidden, 0, 1, panels.begin, panels.end, prior, 0);
    const size_t begin = panels.begin * layout::kPanelRows, end = panels.end * layout::kPanelRows;
    ops::gelu(k, prior + begin, end - begin);
  });
}

void score_panels(const kernels::Kernels& k, const HeadWeights& w, const float* hidden, const float* prior,
                  size_t begin, size_t end, float* logits, float* branch) {
  if (begin == end) return;
  const size_t from = begin * layout::kPanelRows, v = w.output.rows;
  const size_t to = end * layout::kPanelRows < v ? end * layout::kPanelRows : v;
  ops::linear(k, w.output, hidden, 0, 1, begin, end, logits, 0);
  if (!w.has_prior()) return;
  const float* added = w.log_prior;
  if (added == nullptr) {
    ops::linear(k, w.prior_out, prior, 0, 1, begin, end, branch, 0);
    added = branch;
  }
  ops::scaled_add(k, w.prior_weight, added + from, to - from, logits + from);
}

size_t row_bytes(const HeadWeights& w) {
  const size_t prior = w.log_prior != nullptr ? w.output.rows * sizeof(float) : w.prior_out.logical_bytes();
  return (w.output.logical_bytes() + prior) / w.output.rows;
}

}  // namespace spiked::head
