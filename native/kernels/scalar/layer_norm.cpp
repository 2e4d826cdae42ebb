#include <cmath>

#include "kernels/kernels.h"

namespace spiked::kernels::scalar {
namespace {

float tree(const float (&p)[8]) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, size_t n, float eps, float* y) {
  const float count = static_cast<float>(n);
  float p[8] = {};
  for (size_t c = 0; c < n; ++c) p[c % 8] = p[c % 8] + x[c];
  const float mean = tree(p) / count;
  float v[8] = {};
  for (size_t c = 0; c < n; ++c) {
    const float d = x[c] - mean;
    v[c % 8] = std::fma(d, d, v[c % 8]);
  }
  const float r = 1.0f / std::sqrt(tree(v) / count + eps);
  for (size_t c = 0; c < n; ++c) y[c] = std::fma((x[c] - mean) * r, weight[c], bias[c]);
}

}  // namespace spiked::kernels::scalar
