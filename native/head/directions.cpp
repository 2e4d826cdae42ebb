#include "head/directions.h"

#include <cmath>

namespace spiked::head {
namespace {

constexpr int kIterations =
    24;  // a rough axis serves as well as a sharp one: any orthonormal set gives a valid bound

double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Takes what lies along the given directions out of v, twice for full f64 orthogonality, and gives it length 1; false when nothing is left.
bool orthonormalise(std::vector<double>& v, const std::vector<std::vector<double>>& against) {
  const double before = std::sqrt(dot(v.data(), v.data(), v.size()));
  if (!(before > 0) || !std::isfinite(before)) return false;
  for (double& value : v) value /= before;
  for (int pass = 0; pass < 2; ++pass)
    for (const auto& u : against) {
      const double along = dot(v.data(), u.data(), v.size());
      for (size_t i = 0; i < v.size(); ++i) v[i] -= along * u[i];
    }
  const double length = std::sqrt(dot(v.data(), v.data(), v.size()));
  if (!(length > 1e-6)) return false;
  for (double& value : v) value /= length;
  return true;
}

}  // namespace

std::vector<std::vector<double>> main_directions(const std::vector<double>& x, size_t n, size_t dim,
                                                 size_t n_directions) {
  std::vector<std::vector<double>> found;
  for (size_t k = 0; k < n_directions && k < n; ++k) {
    std::vector<double> v(x.begin() + static_cast<std::ptrdiff_t>(k * dim),
                          x.begin() + static_cast<std::ptrdiff_t>((k + 1) * dim));
    if (!orthonormalise(v, found)) break;
    for (int i = 0; i < kIterations; ++i) {
      std::vector<double> next(dim, 0.0);
      for (size_t t = 0; t < n; ++t) {
        const double* row = x.data() + t * dim;
        const double along = dot(row, v.data(), dim);
        for (size_t j = 0; j < dim; ++j) next[j] += along * row[j];
      }
      if (!orthonormalise(next, found)) return found;
      v.swap(next);
    }
    found.push_back(std::move(v));
  }
  return found;
}

}  // namespace spiked::head
