#include "head/full.h"

#include "head/rows.h"
#include "ops/elementwise.h"
#include "ops/linear.h"

namespace spiked::head {

Full::Full(const HeadWeights& weights, OutputRows& rows) : w_(weights), rows_(rows) {
  if (!w_.has_dynamic_prior()) return;
  prior_stride_ = round_up(w_.prior_in.packed.rows, layout::kActivationPad);
  prior_ = AlignedArray<float>(kMaxRows * prior_stride_);
  branch_ = AlignedArray<float>(kMaxRows * w_.output.packed.rows);
}

Status Full::run(Pool& pool, const kernels::Kernels& k, const float* hidden, size_t hidden_stride, size_t n,
                 float* out) {
  const size_t v_stride = logits_stride(), v = w_.output.rows;
  pool.run([&](Team& team) {
    if (w_.has_dynamic_prior()) {
      split_rows(team, w_.prior_in, [&](const Range& units) {
        ops::linear(k, w_.prior_in, hidden, hidden_stride, n, units.begin, units.end, prior_.data(),
                    prior_stride_);
        const size_t unit = w_.prior_in.row_unit(), begin = units.begin * unit, end = units.end * unit;
        for (size_t t = 0; t < n; ++t) ops::gelu(k, prior_.data() + t * prior_stride_ + begin, end - begin);
      });
      team.barrier();
    }
    split_rows(team, w_.output, [&](const Range& units) {
      // prior_out has the same rows, so the same units.
      const size_t unit = w_.output.row_unit(), begin = units.begin * unit,
                   end = units.end * unit < v ? units.end * unit : v;
      rows_.multiply(k, team.index(), hidden, hidden_stride, n, begin, end, out, v_stride);
      if (begin >= end || !w_.has_prior()) return;
      if (w_.has_dynamic_prior())
        ops::linear(k, w_.prior_out, prior_.data(), prior_stride_, n, units.begin, units.end, branch_.data(),
                    v_stride);
      for (size_t t = 0; t < n; ++t) {
        const float* prior = w_.log_prior != nullptr ? w_.log_prior : branch_.data() + t * v_stride;
        ops::scaled_add(k, w_.prior_weight, prior + begin, end - begin, out + t * v_stride + begin);
      }
    });
  });
  return rows_.end();
}

size_t Full::logical_bytes() const {
  const size_t prior = w_.log_prior != nullptr ? w_.output.rows * sizeof(float)
                                               : w_.prior_in.logical_bytes() + w_.prior_out.logical_bytes();
  return w_.output.logical_bytes() + prior;
}

}  // namespace spiked::head
