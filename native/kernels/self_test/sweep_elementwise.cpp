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

void sweep_add_f32(Add scalar, Add tested, Tally& tally) {
  const auto apart = [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar(a, b, n, y.reference());
    tested(a, b, n, y.tested());
  };
  const auto onto_a = [&](size_t n, float, const float*, const float* b, Output<float>& y) {
    scalar(y.reference(), b, n, y.reference());
    tested(y.tested(), b, n, y.tested());
  };
  const auto onto_b = [&](size_t n, float, const float* a, const float*, Output<float>& y) {
    scalar(a, y.reference(), n, y.reference());
    tested(a, y.tested(), n, y.tested());
  };
  sweep(tally, apart);
  sweep(tally, onto_a);
  sweep(tally, onto_b);
}

void sweep_layer_norm(LayerNorm scalar, LayerNorm tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar(a, b, a, n, 1e-5f, y.reference());
    tested(a, b, a, n, 1e-5f, y.tested());
  });
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar(y.reference(), a, b, n, 1e-5f, y.reference());
    tested(y.tested(), a, b, n, 1e-5f, y.tested());
  });
}

void sweep_softmax(Softmax scalar, Softmax tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float*, const float*, Output<float>& y) {
    scalar(y.reference(), n);
    tested(y.tested(), n);
  });
}

void sweep_gelu(Gelu scalar, Gelu tested, Tally& tally) {
  sweep(tally, [&](size_t n, float, const float*, const float*, Output<float>& y) {
    scalar(y.reference(), n);
    tested(y.tested(), n);
  });
}

void sweep_decay_step(DecayStep scalar, DecayStep tested, Tally& tally) {
  sweep(tally, [&](size_t n, float beta, const float* a, const float*, Output<float>& y) {
    scalar(y.reference(), a, beta, n);
    tested(y.tested(), a, beta, n);
  });
}

void sweep_mix_f32(Mix scalar, Mix tested, Tally& tally) {
  sweep(tally, [&](size_t n, float g, const float* a, const float* b, Output<float>& y) {
    scalar(g, a, b, n, y.reference());
    tested(g, a, b, n, y.tested());
  });
}

void sweep_scaled_add(ScaledAdd scalar, ScaledAdd tested, Tally& tally) {
  sweep(tally, [&](size_t n, float p, const float*, const float* b, Output<float>& y) {
    scalar(p, b, n, y.reference());
    tested(p, b, n, y.tested());
  });
}

void sweep_rope(Rope scalar, Rope tested, Tally& tally) {
  // An odd head has no half; its last value must stay as it is.
  sweep(tally, [&](size_t n, float, const float* a, const float* b, Output<float>& y) {
    scalar(y.reference(), a, b, n / 2);
    tested(y.tested(), a, b, n / 2);
  });
}

}  // namespace spiked::kernels::testing
