#pragma once

/// The numbers of exp (docs/numerics.md): base/math and the vector kernels compute the same operations from them.
namespace spiked::exp_constants {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
/// ln 2 in a part of 33 bits, so that a 20-bit multiple of it is exact, and the rest.
inline constexpr double kLn2Hi = 0x1.62e42fefp-1, kLn2Lo = 0x1.473de6af278edp-34;
/// 1/i!
inline constexpr double kSeries[] = {1.0,
                                     1.0,
                                     1.0 / 2,
                                     1.0 / 6,
                                     1.0 / 24,
                                     1.0 / 120,
                                     1.0 / 720,
                                     1.0 / 5040,
                                     1.0 / 40320,
                                     1.0 / 362880,
                                     1.0 / 3628800,
                                     1.0 / 39916800,
                                     1.0 / 479001600.0,
                                     1.0 / 6227020800.0};
inline constexpr int kTerms = sizeof kSeries / sizeof *kSeries;
/// Below this the result is 0.
inline constexpr double kZeroBelow = -745.2;

}  // namespace spiked::exp_constants
