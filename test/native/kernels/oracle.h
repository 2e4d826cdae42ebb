#pragma once
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/dispatch.h"
#include "unit.h"

/// What scalar, the specification, is itself held to: plain f64 loops over logical matrices, with a derived tolerance.
namespace oracle {

/// Unit roundoff of f32.
inline constexpr double kUnit = 0x1p-24;

inline const spiked::kernels::Kernels& scalar() {
  return *spiked::kernels::select("scalar").value()->kernels;
}

inline std::vector<float> numbers(std::mt19937& random, size_t n, float range = 2.0f) {
  std::uniform_real_distribution<float> draw(-range, range);
  std::vector<float> x(n);
  for (float& v : x) v = draw(random);
  return x;
}

inline void expect_near(unit::Test& t, const char* what, size_t i, double truth, float found,
                        double tolerance) {
  if (std::fabs(truth - static_cast<double>(found)) <= tolerance) return;
  t.expect(false, spiked::format("%s[%zu]: expected %.9g within %.3g, found %.9g", what, i, truth, tolerance,
                                 static_cast<double>(found)));
}

}  // namespace oracle
