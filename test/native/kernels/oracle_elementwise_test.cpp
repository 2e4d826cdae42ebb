#include <algorithm>
#include <limits>

#include "kernels/oracle.h"

namespace {

using namespace oracle;

double d(float x) { return static_cast<double>(x); }

const unit::Unit softmax_unit("oracle: softmax against f64", [](unit::Test& t) {
  std::mt19937 random(21);
  for (size_t n : {1u, 2u, 37u, 500u}) {
    const std::vector<float> s = numbers(random, n, 20.0f);
    std::vector<float> p = s;
    scalar().softmax(p.data(), n);
    const double max = d(*std::max_element(s.begin(), s.end()));
    double sum = 0;
    for (float v : s) sum += std::exp(d(v) - max);
    for (size_t i = 0; i < n; ++i) {
      const double truth = std::exp(d(s[i]) - max) / sum;
      // The rounded difference shifts the exponent; then exp, n adds and a division.
      expect_near(t, "p", i, truth, p[i],
                  truth * kUnit * (std::fabs(d(s[i]) - max) + d(static_cast<float>(n)) + 4));
    }
  }
});

const unit::Unit norm_unit("oracle: layer_norm against f64", [](unit::Test& t) {
  std::mt19937 random(22);
  for (size_t n : {1u, 9u, 512u}) {
    const std::vector<float> x = numbers(random, n), w = numbers(random, n), b = numbers(random, n);
    std::vector<float> y(n);
    scalar().layer_norm(x.data(), w.data(), b.data(), n, 1e-5f, y.data());
    const double count = static_cast<double>(n);
    double mean = 0, size = 0, var = 0;
    for (float v : x) {
      mean += d(v) / count;
      size += std::fabs(d(v)) / count;
    }
    for (float v : x) var += (d(v) - mean) * (d(v) - mean) / count;
    const double r = 1 / std::sqrt(var + d(1e-5f));
    const double steps = count / 8 + 8;
    for (size_t i = 0; i < n; ++i) {
      const double normed = (d(x[i]) - mean) * r;
      // The mean's error moves every difference; the variance's error is relative and halves under the root.
      const double slack =
          steps * kUnit * (size * r * (1 + std::fabs(normed)) + std::fabs(normed) + d(std::fabs(x[i])) * r);
      expect_near(
          t, "y", i, normed * d(w[i]) + d(b[i]), y[i],
          slack * std::fabs(d(w[i])) + 2 * kUnit * (std::fabs(normed * d(w[i])) + std::fabs(d(b[i]))));
    }
  }
});

const unit::Unit two_products_unit(
    "oracle: decay_step, mix, scaled_add, add and rope against f64", [](unit::Test& t) {
      std::mt19937 random(23);
      const size_t n = 50;
      const std::vector<float> a = numbers(random, n), b = numbers(random, n), h = numbers(random, n);
      const float g = 0.8125f;
      std::vector<float> decayed = h, mixed(n), scaled = h, added(n), turned = h;
      scalar().decay_step(decayed.data(), a.data(), g, n);
      scalar().mix_f32(g, a.data(), b.data(), n, mixed.data());
      scalar().scaled_add(g, b.data(), n, scaled.data());
      scalar().add_f32(a.data(), b.data(), n, added.data());
      scalar().rope(turned.data(), a.data(), b.data(), n / 2);
      for (size_t i = 0; i < n; ++i) {
        const double tolerance = 8 * kUnit * 8;  // every term is below 8
        expect_near(t, "decay", i, d(g) * d(h[i]) + (1 - d(g)) * d(a[i]), decayed[i], tolerance);
        expect_near(t, "mix", i, d(g) * d(a[i]) + (1 - d(g)) * d(b[i]), mixed[i], tolerance);
        expect_near(t, "scaled_add", i, d(h[i]) + d(g) * d(b[i]), scaled[i], tolerance);
        expect_near(t, "add", i, d(a[i]) + d(b[i]), added[i], tolerance);
        const size_t j = i % (n / 2);
        const double x1 = d(h[j]), x2 = d(h[j + n / 2]), cos = d(a[j]), sin = d(b[j]);
        expect_near(t, "rope", i, i < n / 2 ? x1 * cos - x2 * sin : x2 * cos + x1 * sin, turned[i],
                    tolerance);
      }
    });

const unit::Unit gelu_unit("oracle: gelu against f64", [](unit::Test& t) {
  std::mt19937 random(24);
  const std::vector<float> x = numbers(random, 200, 6.0f);
  std::vector<float> y = x;
  scalar().gelu(y.data(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double truth = d(x[i]) / 2 * std::erfc(-d(x[i]) * std::sqrt(0.5));
    expect_near(t, "y", i, truth, y[i], 2 * kUnit * std::fabs(truth));
  }
});

// Eighths, so that every step is exact and each answer can be worked out by hand.
const unit::Unit membrane_unit(
    "oracle: membrane_step integrates, clamps, fires and resets", [](unit::Test& t) {
      const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
      const float before[9] = {1.0f, 1.0f, 0.5f, -4.0f, 2.0f, 0.0f, 0.0f, -1.0f, 0.0f};
      const float x[9] = {0.25f, 0.5f, 0.75f, -2.0f, 9.0f, -inf, nan, 0.5f, inf};
      const float after[9] = {0.75f, 0.0f, 0.0f, -3.0f, 0.0f, -3.0f, nan, 0.0f, 0.0f};
      float m[9];
      std::copy(before, before + 9, m);
      uint32_t active[9];
      const size_t n = scalar().membrane_step(m, x, 9, 0.5f, 1.0f, active);
      const uint32_t expected[4] = {1, 2, 4, 8};
      t.expect(n == 4 && std::equal(expected, expected + 4, active), "the spikes are 1, 2, 4 and 8");
      for (size_t i = 0; i < 9; ++i) {
        t.expect(m[i] == after[i] || (std::isnan(m[i]) && std::isnan(after[i])),
                 spiked::format("membrane %zu: expected %g, found %g", i, d(after[i]), d(m[i])));
      }
    });

const unit::Unit gather_unit("oracle: threshold_gather takes equals and not NaN", [](unit::Test& t) {
  const float z[6] = {1.0f, 0.999f, std::numeric_limits<float>::quiet_NaN(), 2.0f, -5.0f, 1.0f};
  uint32_t active[6];
  const size_t n = scalar().threshold_gather(z, 6, 1.0f, active);
  const uint32_t expected[3] = {0, 3, 5};
  t.expect(n == 3 && std::equal(expected, expected + 3, active), "the spikes are 0, 3 and 5");
});

}  // namespace
