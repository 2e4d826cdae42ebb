#include "head/coarse.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "tensor/pack.h"
#include "tensor/unpack.h"
#include "threads/partition.h"

namespace spiked::head {
namespace {

// Clipping the largest weights of a group can lower the group's error; the best of these is kept.
constexpr double kClips[] = {1.0, 0.95, 0.9, 0.85, 0.8};
constexpr double kLevels = 7.0;
// A rounding up that outweighs the rounding of the norms' own f64 sums.
constexpr double kUp = 1.0 + 1e-6;

double norm(const double* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

float at_least(double x) {
  const auto f = static_cast<float>(x * kUp);
  return static_cast<double>(f) < x ? std::nextafterf(f, INFINITY) : f;
}

struct Group {
  uint16_t scale;
  int8_t q[layout::kGroupColumns];
};

double quantise(const double* w, double scale, int8_t* q) {
  double error = 0;
  for (size_t i = 0; i < layout::kGroupColumns; ++i) {
    double level = std::nearbyint(w[i] / scale);
    level = level > kLevels ? kLevels : level < -kLevels ? -kLevels : level;
    q[i] = static_cast<int8_t>(level);
    error += (w[i] - level * scale) * (w[i] - level * scale);
  }
  return error;
}

// False when the scale does not fit.
bool best_group(const double* w, Group& best) {
  double absmax = 0;
  for (size_t i = 0; i < layout::kGroupColumns; ++i)
    absmax = std::fabs(w[i]) > absmax ? std::fabs(w[i]) : absmax;
  double least = INFINITY;
  for (double clip : kClips) {
    Group found;
    found.scale = half::from_f32(static_cast<float>(absmax / kLevels * clip));
    if (found.scale == 0) found.scale = half::from_f32(1.0f);
    const auto scale = static_cast<double>(half::to_f32(found.scale));
    if (!std::isfinite(scale)) return false;
    const double error = quantise(w, scale, found.q);
    if (error < least) {
      least = error;
      best = found;
    }
  }
  return true;
}

/// Builds one worker's rows.
class Builder {
 public:
  Builder(const HeadWeights& weights, Coarse& out)
      : weights_(weights), out_(out), w_(out.c_cols + out.g_cols), rest_(w_.size()) {}

  bool row(size_t r) {
    read(r);
    double largest = norm(w_.data(), w_.size());
    rest_ = w_;
    if (!pack(r)) return false;
    const double remainder = norm(rest_.data(), rest_.size());
    // |q| <= |w| + |w - q|
    largest += remainder;
    if (!std::isfinite(largest)) return false;
    max_norm = largest * kUp > max_norm ? largest * kUp : max_norm;
    size_t at = 0;
    for (const auto& u : out_.directions.c) take(r, at++, u, rest_.data());
    for (const auto& u : out_.directions.g) take(r, at++, u, rest_.data() + out_.c_cols);
    out_.rest_c[r] = at_least(norm(rest_.data(), out_.c_cols));
    out_.rest_g[r] = at_least(norm(rest_.data() + out_.c_cols, out_.g_cols));
    return true;
  }

  double max_norm = 0;

 private:
  void read(size_t r) {
    std::fill(w_.begin(), w_.end(), 0.0);
    unpack_row(weights_.output, r, w_.data());
    if (out_.g_cols == 0) return;
    double* g = w_.data() + out_.c_cols;
    unpack_row(weights_.prior_out, r, g);
    for (size_t i = 0; i < out_.g_cols; ++i) g[i] *= static_cast<double>(weights_.prior_weight);
  }

  // Writes the row's codes and leaves w - q in rest_.
  bool pack(size_t r) {
    uint8_t* panel = out_.bytes.data() + r / layout::kPanelRows * layout::i4_panel_bytes(w_.size());
    for (size_t begin = 0; begin < w_.size(); begin += layout::kGroupColumns) {
      Group group{};
      if (!best_group(w_.data() + begin, group)) return false;
      const auto scale = static_cast<double>(half::to_f32(group.scale));
      for (size_t i = 0; i < layout::kGroupColumns; ++i) {
        const I4Position at = i4_position(r % layout::kPanelRows, begin + i);
        panel[at.byte] = static_cast<uint8_t>(panel[at.byte] | (group.q[i] & 0xf) << at.shift);
        std::memcpy(panel + at.scale_byte, &group.scale, sizeof group.scale);
        rest_[begin + i] -= static_cast<double>(group.q[i]) * scale;
      }
    }
    return true;
  }

  // Moves the part of rest along u into the table, as the f32 that is stored.
  void take(size_t r, size_t direction, const std::vector<double>& u, double* rest) {
    double along = 0;
    for (size_t i = 0; i < u.size(); ++i) along += rest[i] * u[i];
    const auto stored = static_cast<float>(along);
    out_.along[direction * out_.rows_padded + r] = stored;
    for (size_t i = 0; i < u.size(); ++i) rest[i] -= static_cast<double>(stored) * u[i];
  }

  const HeadWeights& weights_;
  Coarse& out_;
  std::vector<double> w_, rest_;
};

size_t c_columns(const HeadWeights& w) { return round_up(w.output.cols, layout::kPanelColumns); }
size_t g_columns(const HeadWeights& w) {
  return round_up(w.prior_out.cols, layout::kPanelColumns);  // 0 without a dynamic prior
}

}  // namespace

size_t Coarse::size_bytes(const HeadWeights& weights, size_t n_directions) {
  const size_t rows = round_up(weights.output.rows, layout::kColumnRows);
  return packed_shape(Layout::kPanel4x32I4, weights.output.rows, c_columns(weights) + g_columns(weights))
             .size_bytes(DType::kI4) +
         (n_directions + 2) * rows * sizeof(float);
}

Coarse Coarse::build(Pool& pool, const HeadWeights& weights, Directions directions) {
  Coarse out;
  out.directions = std::move(directions);
  const size_t v = weights.output.rows;
  out.c_cols = c_columns(weights);
  out.g_cols = g_columns(weights);
  const size_t cols = out.c_cols + out.g_cols;
  const PackedShape packed = packed_shape(Layout::kPanel4x32I4, v, cols);
  out.bytes = AlignedArray<uint8_t>(packed.size_bytes(DType::kI4));
  out.table = {DType::kI4, Layout::kPanel4x32I4, v, cols, packed, out.bytes.data(), nullptr};
  out.rows_padded = round_up(v, layout::kColumnRows);
  out.along = AlignedArray<float>(out.n_directions() * out.rows_padded);
  out.rest_c = AlignedArray<float>(out.rows_padded);
  out.rest_g = AlignedArray<float>(out.rows_padded);
  std::vector<Builder> builders(pool.size(), Builder(weights, out));
  std::vector<uint8_t> good(pool.size(), 1);
  pool.run([&](Team& team) {
    const Range mine = share(v, layout::kPanelRows, team.index(), team.size());
    for (size_t r = mine.begin; r < mine.end && good[team.index()] != 0; ++r)
      good[team.index()] = builders[team.index()].row(r) ? 1 : 0;
  });
  out.usable = true;
  for (size_t i = 0; i < builders.size(); ++i) {
    out.usable = out.usable && good[i] != 0;
    out.max_norm = builders[i].max_norm > out.max_norm ? builders[i].max_norm : out.max_norm;
  }
  return out;
}

size_t Coarse::scan_bytes(size_t rows) const {
  return rows * (table.logical_bytes() / table.rows + (n_directions() + 2) * sizeof(float));
}

}  // namespace spiked::head
