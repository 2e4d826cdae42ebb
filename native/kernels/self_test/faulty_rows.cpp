#include <bit>
#include <tuple>

#include "kernels/self_test/faults.h"

namespace spiked::kernels::testing {
namespace {

void flip_last(float* end) { end[-1] = std::bit_cast<float>(std::bit_cast<uint32_t>(end[-1]) ^ 1u); }
void flip_last(int8_t* end) { end[-1] = static_cast<int8_t>(end[-1] ^ 1); }
void stray(float* end) { *end = 42.0f; }
void stray(int8_t* end) { *end = 42; }

template <bool past_end, typename T>
void harm(T* y, size_t n) {
  if constexpr (past_end)
    stray(y + n);
  else if (n != 0)
    flip_last(y + n);
}

/// Scalar's product over rows, harmed at the end of the last token's last row. Their arguments end alike: batch, cols, row_begin,
/// row_end, y, y_stride.
template <auto member, bool past_end, typename... Args>
void harmed(Args... args) {
  (scalar_kernels().*member)(args...);
  const auto all = std::tuple(args...);
  constexpr size_t n = sizeof...(Args);
  const size_t batch = std::get<n - 6>(all), begin = std::get<n - 4>(all), end = std::get<n - 3>(all);
  if (begin != end) harm<past_end>(std::get<n - 2>(all) + (batch - 1) * std::get<n - 1>(all), end);
}

template <auto member, bool past_end>
TernaryRow harmed_codes(const float* x, size_t n, int8_t* q) {
  const TernaryRow row = (scalar_kernels().*member)(x, n, q);
  harm<past_end>(q, n);
  return row;
}

template <bool past_end>
void plant(Kernels& k) {
  k.matmul_t2_i8 = harmed<&Kernels::matmul_t2_i8, past_end>;
  k.matmul_f16_f32 = harmed<&Kernels::matmul_f16_f32, past_end>;
  k.quantize_ternary = harmed_codes<&Kernels::quantize_ternary, past_end>;
  k.quantize_ternary_half_away = harmed_codes<&Kernels::quantize_ternary_half_away, past_end>;
  k.rms_norm = [](const float* x, const float* weight, size_t n, float eps, float* y) {
    scalar_kernels().rms_norm(x, weight, n, eps, y);
    harm<past_end>(y, n);
  };
  k.relu_square_mul = [](const float* g, const float* u, size_t n, float* y) {
    scalar_kernels().relu_square_mul(g, u, n, y);
    harm<past_end>(y, n);
  };
  k.attend_scores_f16 = [](const float* q, size_t n_heads, const uint16_t* keys, size_t stride,
                           const uint32_t* slots, size_t n_keys, size_t head_dim, float factor,
                           float* scores) {
    scalar_kernels().attend_scores_f16(q, n_heads, keys, stride, slots, n_keys, head_dim, factor, scores);
    harm<past_end>(scores, n_heads * n_keys);
  };
  k.attend_values_f16 = [](const float* p, size_t n_heads, const uint16_t* v, size_t stride,
                           const uint32_t* slots, size_t n_keys, size_t head_dim, float* y) {
    scalar_kernels().attend_values_f16(p, n_heads, v, stride, slots, n_keys, head_dim, y);
    harm<past_end>(y, n_heads * head_dim);
  };
}

}  // namespace

void plant_wrong_rows(Kernels& k) { plant<false>(k); }
void plant_overrunning_rows(Kernels& k) { plant<true>(k); }

}  // namespace spiked::kernels::testing
