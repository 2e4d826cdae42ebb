#pragma once
#include "kernels/kernels.h"

namespace spiked::ops {

/// Every layer norm of the published models.
inline constexpr float kNormEps = 1e-5f;

struct NormWeights {
  const float *weight, *bias;  // [n]
};

/// y = LN(x) over n values; y may be x.
inline void layer_norm(const kernels::Kernels& k, const float* x, const NormWeights& w, size_t n, float* y) {
  k.layer_norm(x, w.weight, w.bias, n, kNormEps, y);
}

/// c = LN(c + r): the residual step. sum f32 [n] is scratch.
inline void add_norm(const kernels::Kernels& k, float* c, const float* r, const NormWeights& w, size_t n,
                     float* sum) {
  k.add_f32(c, r, n, sum);
  k.layer_norm(sum, w.weight, w.bias, n, kNormEps, c);
}

/// y = RMS(x) over n values; y may be x.
inline void rms_norm(const kernels::Kernels& k, const float* x, const float* weight, size_t n, float eps,
                     float* y) {
  k.rms_norm(x, weight, n, eps, y);
}

}  // namespace spiked::ops
