#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

constexpr size_t kSizes[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 29, 64, 1536};

/// run(n, factor, a, b, y): a and b are inputs, y starts with content of its own.
template <typename Run>
void sweep(Tally& tally, Run run) {
  Random random(tally.seed());
  for (size_t n : kSizes) {
    for (Pattern pattern : kPatterns) {
      tally.begin_case(format("%zu values, %s", n, name(pattern)));
      Input<float> a(random, pattern, n, random.below(5));
      Input<float> b(random, random.below(2) == 0 ? pattern : Pattern::kRandom, n, random.below(5));
      Input<float> before(random, pattern, n);
      Output<float> y(before.data(), n, random.below(5));
      run(n, random.number(), a.data(), b.data(), y);
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace

void sweep_add_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  const auto apart = [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar.add_f32(a, b, n, y.reference());
    tested.add_f32(a, b, n, y.tested());
  };
  const auto onto_a = [&](size_t n, float, const float*, const float* b, Output<float>& y) {
    scalar.add_f32(y.reference(), b, n, y.reference());
    tested.add_f32(y.tested(), b, n, y.tested());
  };
  const auto onto_b = [&](size_t n, float, const float* a, const float*, Output<float>& y) {
    scalar.add_f32(a, y.reference(), n, y.reference());
    tested.add_f32(a, y.tested(), n, y.tested());
  };
  sweep(tally, apart);
  sweep(tally, onto_a);
  sweep(tally, onto_b);
}

void sweep_layer_norm(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar.layer_norm(a, b, a, n, 1e-5f, y.reference());
    tested.layer_norm(a, b, a, n, 1e-5f, y.tested());
  });
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar.layer_norm(y.reference(), a, b, n, 1e-5f, y.reference());
    tested.layer_norm(y.tested(), a, b, n, 1e-5f, y.tested());
  });
}

void sweep_rms_norm(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar.rms_norm(a, b, n, 1e-5f, y.reference());
    tested.rms_norm(a, b, n, 1e-5f, y.tested());
  });
  sweep(tally, [&](size_t n, float, const float*, const float* b, Output<float>& y) {
    scalar.rms_norm(y.reference(), b, n, 1e-5f, y.reference());
    tested.rms_norm(y.tested(), b, n, 1e-5f, y.tested());
  });
}

void sweep_relu_square_mul(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float* g, const float* u, Output<float>& y) {
    scalar.relu_square_mul(g, u, n, y.reference());
    tested.relu_square_mul(g, u, n, y.tested());
  });
  sweep(tally, [&](size_t n, float, const float*, const float* u, Output<float>& y) {
    scalar.relu_square_mul(y.reference(), u, n, y.reference());
    tested.relu_square_mul(y.tested(), u, n, y.tested());
  });
  sweep(tally, [&](size_t n, float, const float* g, const float*, Output<float>& y) {
    scalar.relu_square_mul(g, y.reference(), n, y.reference());
    tested.relu_square_mul(g, y.tested(), n, y.tested());
  });
}

void sweep_softmax(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float*, const float*, Output<float>& y) {
    scalar.softmax(y.reference(), n);
    tested.softmax(y.tested(), n);
  });
}

void sweep_gelu(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float*, const float*, Output<float>& y) {
    scalar.gelu(y.reference(), n);
    tested.gelu(y.tested(), n);
  });
}

void sweep_decay_step(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float beta, const float* a, const float*, Output<float>& y) {
    scalar.decay_step(y.reference(), a, beta, n);
    tested.decay_step(y.tested(), a, beta, n);
  });
}

void sweep_mix_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float g, const float* a, const float* b, Output<float>& y) {
    scalar.mix_f32(g, a, b, n, y.reference());
    tested.mix_f32(g, a, b, n, y.tested());
  });
}

void sweep_scaled_add(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep(tally, [&](size_t n, float p, const float*, const float* b, Output<float>& y) {
    scalar.scaled_add(p, b, n, y.reference());
    tested.scaled_add(p, b, n, y.tested());
  });
}

void sweep_rope(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  // An odd head has no half; its last value must stay as it is.
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar.rope(y.reference(), a, b, n / 2);
    tested.rope(y.tested(), a, b, n / 2);
  });
}

}  // namespace spiked::kernels::testing
