#include <bit>
#include <tuple>

#include "kernels/layout.h"
#include "kernels/self_test/faults.h"

namespace spiked::kernels::testing {
namespace {

void flip_last(float* end) { end[-1] = std::bit_cast<float>(std::bit_cast<uint32_t>(end[-1]) ^ 1u); }
void stray(float* end) { *end = 42.0f; }

/// Scalar's product, then `harm` at the end of the last token's last row. Every dense product's arguments end alike:
/// batch, cols, panel_begin, panel_end, y, y_stride.
template <auto member, void (*harm)(float*), typename... Args>
void harmed(Args... args) {
  (scalar_kernels().*member)(args...);
  const auto all = std::tuple(args...);
  constexpr size_t n = sizeof...(Args);
  const size_t batch = std::get<n - 6>(all), begin = std::get<n - 4>(all), end = std::get<n - 3>(all);
  if (begin == end) return;
  harm(std::get<n - 2>(all) + (batch - 1) * std::get<n - 1>(all) + end * layout::kPanelRows);
}

template <void (*harm)(float*)>
void plant(Kernels& k) {
  k.matmul_f32_f32 = harmed<&Kernels::matmul_f32_f32, harm>;
  k.matmul_i8_f32 = harmed<&Kernels::matmul_i8_f32, harm>;
  k.matmul_i8_i8 = harmed<&Kernels::matmul_i8_i8, harm>;
  k.matmul_i8_i16 = harmed<&Kernels::matmul_i8_i16, harm>;
  k.matmul_i4_f32 = harmed<&Kernels::matmul_i4_f32, harm>;
  k.matmul_i4_i8 = harmed<&Kernels::matmul_i4_i8, harm>;
  k.matmul_i4_i16 = harmed<&Kernels::matmul_i4_i16, harm>;
}

}  // namespace

void plant_wrong_products(Kernels& k) { plant<flip_last>(k); }
void plant_overrunning_products(Kernels& k) { plant<stray>(k); }

}  // namespace spiked::kernels::testing
