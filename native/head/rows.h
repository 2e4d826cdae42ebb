#pragma once
#include "head/output_rows.h"
#include "ops/linear.h"
#include "tensor/matrix.h"
#include "threads/pool.h"

namespace spiked::head {

/// The parts of the full head for one hidden state. Every mode that gives a row its exact logit goes through here, so its bits are full's.
///
/// hidden  f32 [D], zero-padded
/// prior   f32 [D/4], zero-padded: GELU(W_1 c); unused without a dynamic prior

/// prior[r] for what this worker takes of W_1's rows.
void prior_hidden(const kernels::Kernels& k, const HeadWeights& w, Team& team, const float* hidden,
                  float* prior);

/// logits[r] for `rows`, whole units of `output`, by worker `worker`; `branch` is room for as many values at the same places.
void score_rows(const kernels::Kernels& k, const HeadWeights& w, OutputRows& output, unsigned worker,
                const float* hidden, const float* prior, const Range& rows, float* logits, float* branch);

/// Chosen units that a worker takes at once: they lie apart in memory anyway.
inline constexpr size_t kUnitsAtOnce = 16;

/// Shares out the rows of a matrix in units of w.row_unit() (Team::split).
template <typename F>
void split_rows(Team& team, const Matrix& w, F&& body) {
  const ops::Runs runs = ops::runs(w);
  team.split(w.n_row_units(), runs.least, runs.most, body);
}

/// Least bytes of weights that one row's exact logit reads.
size_t row_bytes(const HeadWeights& w);

}  // namespace spiked::head
