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

void score_rows(const kernels::Kernels& k, const HeadWeights& w, OutputRows& output, unsigned worker,
                const float* hidden, const float* prior, const Range& rows, float* logits, float* branch) {
  const size_t v = w.output.rows, from = rows.begin, to = rows.end < v ? rows.end : v;
  if (from >= to) return;
  output.multiply(k, worker, hidden, 0, 1, from, to, logits, 0);
  if (!w.has_prior()) return;
  const float* added = w.log_prior;
  if (added == nullptr) {
    const size_t unit = w.prior_out.row_unit();
    ops::linear(k, w.prior_out, prior, 0, 1, from / unit, (to + unit - 1) / unit, branch, 0);
    added = branch;
  }
  ops::scaled_add(k, w.prior_weight, added + from, to - from, logits + from);
}

size_t row_bytes(const HeadWeights& w) {
  const size_t prior = w.log_prior != nullptr ? w.output.rows * sizeof(float) : w.prior_out.logical_bytes();
  return (w.output.logical_bytes() + prior) / w.output.rows;
}

}  // namespace spiked::head
