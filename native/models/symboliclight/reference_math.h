#pragma once
// The reference pass's own arithmetic, in float64; forward() uses none of it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/norm.h"
#include "tensor/matrix.h"
#include "threads/partition.h"
#include "threads/pool.h"

namespace spiked::symboliclight::f64 {

/// body(i) for every i below n, shared over the workers. body must not throw.
template <typename F>
void each(Pool& pool, size_t n, F&& body) {
  pool.run([&](Team& team) {
    const Range mine = share(n, 1, team.index(), team.size());
    for (size_t i = mine.begin; i < mine.end; ++i) body(i);
  });
}

/// y[t, r] = sum_c W[r, c] x[t, c]; x [n, W.cols], y [n, W.rows].
void product(Pool& pool, const Matrix& w, const double* x, size_t n, double* y);

/// y[t, r] = sum of W[r, c] over the c with s[t, c] != 0; s [n, W.cols], y [n, W.rows].
void binary_product(Pool& pool, const Matrix& w, const uint8_t* s, size_t n, double* y);

/// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias over n values, biased variance; y may be x.
void layer_norm(const double* x, const ops::NormWeights& w, size_t n, double* y);

double sigmoid(double x);
double gelu(double x);

/// Rotates the pairs (j, j + d/2) of one head by pos * inv_freq[j].
void rotate(double* x, size_t pos, const float* inv_freq, size_t head_dim);

/// What n activations are worth after the rule of docs/numerics.md with codes up to +-largest: code * scale, exactly.
void quantised(const float* x, size_t n, float largest, double* out);

}  // namespace spiked::symboliclight::f64
