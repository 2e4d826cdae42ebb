#pragma once
#include "kernels/kernels.h"

namespace spiked::ops {

/// h = beta * h + (1 - beta) * a over n values.
inline void decay_step(const kernels::Kernels& k, float* h, const float* a, float beta, size_t n) {
  k.decay_step(h, a, beta, n);
}

/// y = g * a + (1 - g) * b over n values.
inline void mix(const kernels::Kernels& k, float g, const float* a, const float* b, size_t n, float* y) {
  k.mix_f32(g, a, b, n, y);
}

/// y = y + p * b over n values.
inline void scaled_add(const kernels::Kernels& k, float p, const float* b, size_t n, float* y) {
  k.scaled_add(p, b, n, y);
}

/// y = a + b over n values; y may be a or b.
inline void add(const kernels::Kernels& k, const float* a, const float* b, size_t n, float* y) {
  k.add_f32(a, b, n, y);
}

/// y = relu(g)^2 * u over n values; y may be g or u.
inline void relu_square_mul(const kernels::Kernels& k, const float* g, const float* u, size_t n, float* y) {
  k.relu_square_mul(g, u, n, y);
}

/// x = GELU(x), exact (erf) form, over n values.
inline void gelu(const kernels::Kernels& k, float* x, size_t n) { k.gelu(x, n); }

}  // namespace spiked::ops
