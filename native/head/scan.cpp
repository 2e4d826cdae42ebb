#include "head/scan.h"

#include "base/clock.h"
#include "head/rows.h"
#include "ops/elementwise.h"

namespace spiked::head {

Scan::Scan(const HeadWeights& weights) : w_(weights) {
  const size_t widest = round_up(w_.output.packed.cols, layout::kActivationPad);
  q8_ = AlignedArray<int8_t>(widest);
  q16_ = AlignedArray<int16_t>(widest);
  if (!w_.has_dynamic_prior()) return;
  prior_ = AlignedArray<float>(round_up(w_.prior_in.packed.rows, layout::kActivationPad));
  branch_ = AlignedArray<float>(w_.output.packed.rows);
}

ops::QuantizedRows Scan::rows(ops::Activations precision, size_t cols) {
  return {precision, q8_.data(), q16_.data(), &q_scale_, round_up(cols, layout::kActivationPad)};
}

void Scan::run(Pool& pool, const kernels::Kernels& k, const float* hidden, ops::Activations activations,
               Scope scope, float* logits, Step& step) {
  const bool exact = activations == ops::Activations::kF32;
  const bool exact_prior = exact || scope == Scope::kProjection;
  const size_t d = w_.output.cols, v = w_.output.rows;
  prior_exact_ = exact_prior;
  if (!exact) {
    // What lies past the columns of an earlier, wider vector must be zero again.
    q8_.zero();
    q16_.zero();
    ops::quantize(k, hidden, 0, 1, d, rows(activations, d));
  }
  pool.run([&](Team& team) {
    const bool first = team.index() == 0;
    Clock clock(first);
    // logits += what the prior says, for these panels of both.
    const auto add_prior = [&](const Range& panels) {
      const size_t begin = panels.begin * layout::kPanelRows,
                   end = panels.end * layout::kPanelRows < v ? panels.end * layout::kPanelRows : v;
      const float* prior = w_.log_prior != nullptr ? w_.log_prior : branch_.data();
      if (begin < end) ops::scaled_add(k, w_.prior_weight, prior + begin, end - begin, logits + begin);
    };
    split_rows(team, w_.output, [&](const Range& panels) {
      if (exact)
        ops::linear(k, w_.output, hidden, 0, 1, panels.begin, panels.end, logits, 0);
      else
        ops::linear(k, w_.output, rows(activations, d), 1, panels.begin, panels.end, logits, 0);
      if (w_.log_prior != nullptr) add_prior(panels);
    });
    if (first) step.projection_ns = clock.lap();
    if (w_.has_dynamic_prior()) {
      if (exact_prior) {
        prior_hidden(k, w_, team, hidden, prior_.data());
      } else {
        split_rows(team, w_.prior_in, [&](const Range& panels) {
          ops::linear(k, w_.prior_in, rows(activations, d), 1, panels.begin, panels.end, prior_.data(), 0);
          ops::gelu(k, prior_.data() + panels.begin * layout::kPanelRows,
                    (panels.end - panels.begin) * layout::kPanelRows);
        });
      }
      team.barrier();
      if (!exact_prior) {
        if (first) {
          q8_.zero();
          q16_.zero();
          ops::quantize(k, prior_.data(), 0, 1, w_.prior_out.cols, rows(activations, w_.prior_out.cols));
        }
        team.barrier();
      }
      split_rows(team, w_.prior_out, [&](const Range& panels) {
        if (exact_prior)
          ops::linear(k, w_.prior_out, prior_.data(), 0, 1, panels.begin, panels.end, branch_.data(), 0);
        else
          ops::linear(k, w_.prior_out, rows(activations, w_.prior_out.cols), 1, panels.begin, panels.end,
                      branch_.data(), 0);
        add_prior(panels);
      });
    }
    team.barrier();
    if (first) step.prior_ns = clock.lap();
  });
  step.mode = Mode::kScan;
  step.proved = exact;
  step.bytes = row_bytes(w_) * v + w_.prior_in.logical_bytes();
}

size_t Scan::size_bytes() const {
  return (prior_.size() + branch_.size()) * sizeof(float) + q8_.size() + q16_.size() * sizeof(int16_t);
}

}  // namespace spiked::head
