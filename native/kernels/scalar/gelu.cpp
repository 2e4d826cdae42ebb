#include "base/math.h"
#include "kernels/kernels.h"

namespace spiked::kernels::scalar {

void gelu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = math::gelu_f32(x[i]);
}

}  // namespace spiked::kernels::scalar
