#include "models/symboliclight/reference_attention.h"

#include <algorithm>
#include <cmath>

#include "models/symboliclight/reference_math.h"

namespace spiked::symboliclight::f64 {
namespace {

/// One query of one head over the visible keys; q, y [d], k and v [n, D] at the head's first column.
void attend_one(const Config& c, const double* q, const double* k, const double* v, const uint8_t* awake,
                size_t t, double* scores, double* y) {
  const size_t d = c.head_dim, stride = c.embed_dim;
  const auto visible = [&](size_t j) { return awake[j] != 0 && (t - j <= c.window || j < c.n_anchors); };
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  double largest = -INFINITY, sum = 0;
  for (size_t j = 0; j <= t; ++j) {
    if (!visible(j)) continue;
    scores[j] = 0;
    for (size_t i = 0; i < d; ++i) scores[j] += q[i] * k[j * stride + i];
    scores[j] *= factor;
    largest = std::max(largest, scores[j]);
  }
  for (size_t j = 0; j <= t; ++j)
    if (visible(j)) sum += scores[j] = std::exp(scores[j] - largest);
  for (size_t j = 0; j <= t; ++j)
    if (visible(j))
      for (size_t i = 0; i < d; ++i) y[i] += scores[j] / sum * v[j * stride + i];
}

}  // namespace

std::vector<double> attend(Pool& pool, const Config& c, const BlockWeights& b, const double* x,
                           const uint8_t* s, size_t n) {
  const size_t dim = c.embed_dim, d = c.head_dim;
  std::vector<double> q(n * dim), k(n * dim), v(n * dim), y(n * dim), scores(c.n_heads * n);
  std::vector<uint8_t> awake(n);
  product(pool, b.q, x, n, q.data());
  product(pool, b.k, x, n, k.data());
  product(pool, b.v, x, n, v.data());
  each(pool, n, [&](size_t t) {
    awake[t] = std::any_of(s + t * dim, s + (t + 1) * dim, [](uint8_t spike) { return spike != 0; }) ? 1 : 0;
    for (size_t at = t * dim; at < (t + 1) * dim; at += d) {
      rotate(q.data() + at, t, b.inv_freq, d);
      rotate(k.data() + at, t, b.inv_freq, d);
    }
  });
  each(pool, c.n_heads, [&](size_t h) {
    const size_t at = h * d;
    for (size_t t = 0; t < n; ++t)
      if (awake[t] != 0)
        attend_one(c, q.data() + t * dim + at, k.data() + at, v.data() + at, awake.data(), t,
                   scores.data() + h * n, y.data() + t * dim + at);
  });
  return y;
}

}  // namespace spiked::symboliclight::f64
