#include "head/coarse.h"

#include <algorithm>
#include <cmath>

#include "base/huge_pages.h"
#include "head/row_codes.h"
#include "tensor/pack.h"
#include "tensor/row_file.h"
#include "tensor/unpack.h"
#include "threads/partition.h"

namespace spiked::head {
namespace {

// A rounding up that outweighs the rounding of the norms' own f64 sums.
constexpr double kUp = 1.0 + 1e-6;
// Of rows that are read from a file, for all workers together: a read's own cost is small beside coding even a worker's part of it.
constexpr size_t kWindowBytes = size_t{4} << 20;

double norm(const double* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

float at_least(double x) {
  const auto f = static_cast<float>(x * kUp);
  return static_cast<double>(f) < x ? std::nextafterf(f, INFINITY) : f;
}

/// Builds one worker's rows.
class Builder {
 public:
  Builder(const HeadWeights& weights, Coarse& out, size_t window_rows)
      : weights_(weights), out_(out), w_(out.c_cols + out.g_cols), rest_(w_.size()), source_(weights.output) {
    if (source_.file != nullptr) window_.resize(window_rows * source_.cols);
  }

  void build(const Range& rows) {
    const size_t step = window_.empty() ? rows.end - rows.begin : window_.size() / source_.cols;
    for (size_t at = rows.begin; at < rows.end && usable; at += step) {
      const size_t end = std::min(at + step, rows.end);
      if (!window_.empty()) {
        status = weights_.output.file->read(at, end, window_.data());
        if (!status.ok()) return;
        source_.data = window_.data();
        first_ = at;
      }
      for (size_t r = at; r < end && usable; ++r) usable = row(r);
    }
  }

  Status status;
  bool usable = true;
  double max_norm = 0;

 private:
  bool row(size_t r) {
    read(r);
    double largest = norm(w_.data(), w_.size());
    if (!std::isfinite(largest)) return false;
    rest_ = w_;
    if (!encode(r)) return false;
    // |q| <= |w| + |w - q|
    largest += norm(rest_.data(), rest_.size());
    max_norm = largest * kUp > max_norm ? largest * kUp : max_norm;
    size_t at = 0;
    for (const auto& u : out_.directions.c) take(r, at++, u, rest_.data());
    for (const auto& u : out_.directions.g) take(r, at++, u, rest_.data() + out_.c_cols);
    out_.rest_c[r] = at_least(norm(rest_.data(), out_.c_cols));
    if (out_.g_cols != 0) out_.rest_g[r] = at_least(norm(rest_.data() + out_.c_cols, out_.g_cols));
    return true;
  }

  void read(size_t r) {
    std::fill(w_.begin(), w_.end(), 0.0);
    unpack_row(source_, r - first_, w_.data());
    if (out_.g_cols == 0) return;
    double* g = w_.data() + out_.c_cols;
    unpack_row(weights_.prior_out, r, g);
    for (size_t i = 0; i < out_.g_cols; ++i) g[i] *= static_cast<double>(weights_.prior_weight);
  }

  bool encode(size_t r) {
    const size_t panel_bytes = PackedShape{layout::kPanelRows, w_.size()}.size_bytes(out_.table.dtype);
    uint8_t* panel = out_.bytes.data() + r / layout::kPanelRows * panel_bytes;
    if (out_.table.dtype == DType::kI4) return encode_row_4(w_, r % layout::kPanelRows, panel, rest_);
    out_.scales[r] = encode_row_8(w_, r % layout::kPanelRows, panel, rest_);
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
  Matrix source_;  // the output, or the window of it from row first_ on
  size_t first_ = 0;
  std::vector<uint16_t> window_;
};

size_t c_columns(const HeadWeights& w) { return round_up(w.output.cols, layout::kPanelColumns); }
size_t g_columns(const HeadWeights& w) {
  return round_up(w.prior_out.cols, layout::kPanelColumns);  // 0 without a dynamic prior
}

Matrix table_of(const HeadWeights& w, TableBits bits) {
  const bool four = bits == TableBits::k4;
  const Layout layout = four ? Layout::kPanel4x32I4 : Layout::kPanel4x32;
  const size_t cols = c_columns(w) + g_columns(w);
  return {four ? DType::kI4 : DType::kI8, layout, w.output.rows, cols,
          packed_shape(layout, w.output.rows, cols)};
}

size_t n_scales(const Matrix& table) { return table.dtype == DType::kI8 ? table.packed.rows : 0; }
size_t n_rests(const HeadWeights& w) { return g_columns(w) == 0 ? 1 : 2; }

}  // namespace

size_t Coarse::size_bytes(const HeadWeights& weights, TableBits bits, size_t n_directions) {
  const size_t rows = round_up(weights.output.rows, layout::kColumnRows);
  const Matrix table = table_of(weights, bits);
  return table.packed.size_bytes(table.dtype) +
         (n_scales(table) + (n_directions + n_rests(weights)) * rows) * sizeof(float);
}

Result<Coarse> Coarse::build(Pool& pool, const HeadWeights& weights, TableBits bits, Directions directions) {
  Coarse out;
  out.directions = std::move(directions);
  out.c_cols = c_columns(weights);
  out.g_cols = g_columns(weights);
  out.table = table_of(weights, bits);
  out.bytes = AlignedArray<uint8_t>(out.table.packed.size_bytes(out.table.dtype));
  prefer_huge_pages(out.bytes.data(), out.bytes.size());
  out.scales = AlignedArray<float>(n_scales(out.table));
  out.table.data = out.bytes.data();
  out.table.scale = n_scales(out.table) == 0 ? nullptr : out.scales.data();
  out.rows_padded = round_up(weights.output.rows, layout::kColumnRows);
  out.along = AlignedArray<float>(out.n_directions() * out.rows_padded);
  out.rest_c = AlignedArray<float>(out.rows_padded);
  if (out.g_cols != 0) out.rest_g = AlignedArray<float>(out.rows_padded);
  const size_t row_bytes = weights.output.cols * sizeof(uint16_t),
               window_rows = std::max<size_t>(1, kWindowBytes / row_bytes / pool.size());
  std::vector<Builder> builders;
  builders.reserve(pool.size());
  for (unsigned i = 0; i < pool.size(); ++i) builders.emplace_back(weights, out, window_rows);
  pool.run([&](Team& team) {
    builders[team.index()].build(share(out.table.rows, layout::kPanelRows, team.index(), team.size()));
  });
  out.usable = true;
  for (const Builder& builder : builders) {
    if (!builder.status.ok()) return builder.status;
    out.usable = out.usable && builder.usable;
    out.max_norm = builder.max_norm > out.max_norm ? builder.max_norm : out.max_norm;
  }
  return out;
}

size_t Coarse::scan_bytes(size_t rows) const {
  return table_bytes(rows) + rows * (n_directions() + (g_cols == 0 ? 1 : 2)) * sizeof(float);
}

}  // namespace spiked::head
