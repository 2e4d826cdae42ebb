#include "head/bound.h"

#include <cmath>

namespace spiked::head {
namespace {

constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in f32
constexpr double kUp = 1.0 + 1e-6;
// Beyond it a product of norms could overflow f32.
constexpr double kLargest = 1e30;
// Outweighs every underflow: fewer than 2^24 operations, each off by at most 2^-149 and scaled by less than 2^25, as f16 scales bound
// the weights.
constexpr double kTiny = 1e-30;

struct Part {
  double norm = 0, rest = 0;
};

// Norms of x and of what it has outside the directions, which `rest` then holds; along[i] = u_i . x as f32.
Part split(const float* x, size_t n, const std::vector<std::vector<double>>& directions, float* along,
           double* rest) {
  for (size_t i = 0; i < n; ++i) rest[i] = static_cast<double>(x[i]);
  Part part;
  for (size_t i = 0; i < n; ++i) part.norm += rest[i] * rest[i];
  part.norm = std::sqrt(part.norm);
  for (size_t k = 0; k < directions.size(); ++k) {
    const auto& u = directions[k];
    double sum = 0;
    for (size_t i = 0; i < u.size(); ++i) sum += rest[i] * u[i];
    along[k] = static_cast<float>(sum);
    for (size_t i = 0; i < u.size(); ++i) rest[i] -= static_cast<double>(along[k]) * u[i];
  }
  for (size_t i = 0; i < n; ++i) part.rest += rest[i] * rest[i];
  part.rest = std::sqrt(part.rest);
  return part;
}

float at_least(double x) { return std::nextafterf(static_cast<float>(x * kUp), INFINITY); }

}  // namespace

Bound bound_of(const Coarse& coarse, const HeadWeights& weights, const Query& query, float scale) {
  const Part c = split(query.x, coarse.c_cols, coarse.directions.c, query.along, query.rest);
  const Part g = split(query.x + coarse.c_cols, coarse.g_cols, coarse.directions.g,
                       query.along + coarse.directions.c.size(), query.rest);
  const size_t cols = coarse.c_cols + coarse.g_cols;
  double off = 0;  // of the i16 activations
  for (size_t i = 0; i < cols; ++i) {
    const double d =
        static_cast<double>(query.x[i]) -
        static_cast<double>(query.q_scale) * static_cast<double>(layout::i16_value(query.order, query.q, i));
    off += d * d;
  }
  off = std::sqrt(off);
  const double norm = std::sqrt(c.norm * c.norm + g.norm * g.norm);
  double prior = 0;  // without a dynamic prior both scores add the same product
  if (weights.log_prior != nullptr)
    for (size_t r = 0; r < weights.output.rows; ++r) {
      const double p =
          std::fabs(static_cast<double>(weights.prior_weight) * static_cast<double>(weights.log_prior[r]));
      prior = p > prior ? p : prior;
    }
  // Roundings on a row's longest path: full's chain of columns mod 8 (or groups) and its tree, scales and adds; the first pass's chain
  // of groups, of directions, its scale and adds.
  const double roundings = static_cast<double>(cols / 8 + 32) +
                           static_cast<double>(cols / layout::kGroupColumns + 16) +
                           4.0 * static_cast<double>(coarse.n_directions() + 2);
  const double relative = roundings * kUnit * 1.01;
  Bound b;
  b.usable = coarse.usable && norm * coarse.max_norm + prior < kLargest;  // false for NaN too
  b.c_rest = at_least(c.rest) * scale;
  b.g_rest = at_least(g.rest) * scale;
  b.slack = at_least(coarse.max_norm * (relative * norm + off) + 4 * kUnit * prior + kTiny) * scale;
  return b;
}

}  // namespace spiked::head
