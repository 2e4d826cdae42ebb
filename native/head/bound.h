#pragma once
#include <cstddef>

#include "head/coarse.h"

namespace spiked::head {

/// How far full's f32 logit can be from a row's first-pass score (docs/numerics.md, "The certified bound", has the proof):
///
///   |full_r - score_r| <= rest_c[r] * c_rest + rest_g[r] * g_rest + slack
struct Bound {
  float c_rest = 0;  ///< norm of what c has outside the directions
  float g_rest = 0;
  float slack = 0;      ///< roundings of full and of the first pass, and the activations' own quantisation
  bool usable = false;  ///< false when a value is not finite, or so large that f32 could overflow
};

/// The vector that the head reads, and what the first pass made of it.
struct Query {
  const float* x;    ///< f32 [c_cols + g_cols]: c, then g, each zero-padded
  const int16_t* q;  ///< its i16 form, in `order`
  layout::I16Order order;
  float q_scale;
  float* along;  ///< out: f32 [n_directions] products with the directions
  double* rest;  ///< scratch: f64 [max(c_cols, g_cols)]
};

/// scale: 1; tests shrink the bound to see that it is needed.
Bound bound_of(const Coarse& coarse, const HeadWeights& weights, const Query& query, float scale);

}  // namespace spiked::head
