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

/// x = GELU(x), exact (erf) form, over n values.
inline void gelu(const kernels::Kernels& k, float* x, size_t n) { k.gelu(x, n); }

}  // namespace spiked::ops
