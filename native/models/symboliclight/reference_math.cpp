#include "models/symboliclight/reference_math.h"

#include <cmath>

#include "tensor/unpack.h"

namespace spiked::symboliclight::f64 {
namespace {

// Four sums hide the adds' latency; in float64 their order does not matter here.
double dot(const double* a, const double* b, size_t n) {
  double s[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t j = 0; j < 4; ++j) s[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) s[0] += a[i] * b[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/// value(row of weights, t) into y[t, r], a row unpacked once for all positions.
template <typename F>
void rows(Pool& pool, const Matrix& w, size_t n, double* y, F&& value) {
  std::vector<double> unpacked(pool.size() * w.cols);
  pool.run([&](Team& team) {
    double* row = unpacked.data() + team.index() * w.cols;
    const Range mine = share(w.rows, 1, team.index(), team.size());
    for (size_t r = mine.begin; r < mine.end; ++r) {
      unpack_row(w, r, row);
      for (size_t t = 0; t < n; ++t) y[t * w.rows + r] = value(row, t);
    }
  });
}

}  // namespace

void product(Pool& pool, const Matrix& w, const double* x, size_t n, double* y) {
  rows(pool, w, n, y, [&](const double* row, size_t t) { return dot(row, x + t * w.cols, w.cols); });
}

void binary_product(Pool& pool, const Matrix& w, const uint8_t* s, size_t n, double* y) {
  rows(pool, w, n, y, [&](const double* row, size_t t) {
    double sum = 0;
    for (size_t c = 0; c < w.cols; ++c)
      if (s[t * w.cols + c] != 0) sum += row[c];
    return sum;
  });
}

void layer_norm(const double* x, const ops::NormWeights& w, size_t n, double* y) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<double>(n);
  const double deviation = std::sqrt(variance + 1e-5);
  for (size_t i = 0; i < n; ++i)
    y[i] = (x[i] - mean) / deviation * static_cast<double>(w.weight[i]) + static_cast<double>(w.bias[i]);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }

void rotate(double* x, size_t pos, const float* inv_freq, size_t head_dim) {
  const size_t half = head_dim / 2;
  for (size_t j = 0; j < half; ++j) {
    const double angle = static_cast<double>(pos) * static_cast<double>(inv_freq[j]);
    const double c = std::cos(angle), s = std::sin(angle), a = x[j], b = x[j + half];
    x[j] = a * c - b * s;
    x[j + half] = b * c + a * s;
  }
}

void quantised(const float* x, size_t n, float largest, double* out) {
  float m = 0;
  for (size_t i = 0; i < n; ++i)
    if (std::fabs(x[i]) > m) m = std::fabs(x[i]);  // false for NaN
  const float scale = m == 0.0f ? 1.0f : m / largest;
  for (size_t i = 0; i < n; ++i) {
    const float ratio = std::isnan(x[i]) ? 0.0f : x[i] / scale;
    const double code = std::nearbyint(std::fmin(std::fmax(ratio, -largest), largest));
    out[i] = code * static_cast<double>(scale);
  }
}

}  // namespace spiked::symboliclight::f64
