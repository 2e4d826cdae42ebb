#pragma once

/// Our own elementary functions: f64 +, -, *, / only, rounded once to f32, so that every ISA and libm gives the same
/// bits. At most 1 ULP from the true value (docs/numerics.md; test/native measures it).
namespace spiked::math {

float exp_f32(float x);
float log_f32(float x);
float erf_f32(float x);
/// Any finite f32 angle up to 2^20 radians in magnitude.
float sin_f32(float x);
float cos_f32(float x);
float sigmoid_f32(float x);
float gelu_f32(float x);

/// exp and log in f64 (sampling and scoring): relative error below 1e-14.
double exp_f64(double x);
double log_f64(double x);

}  // namespace spiked::math
