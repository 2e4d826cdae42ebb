#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Values looked at together: how many of them fired is guessed wrong once for all of them.
constexpr size_t kValues = 16;
/// Bits of a mask that stand for one value.
constexpr unsigned kBits = 4;

/// Four equal bits for each of 16 values: set where it fired.
uint64_t fired(const float* z, float32x4_t thresholds) {
  const uint16x8_t low = vcombine_u16(vmovn_u32(vcgeq_f32(vld1q_f32(z), thresholds)),
                                      vmovn_u32(vcgeq_f32(vld1q_f32(z + 4), thresholds)));
  const uint16x8_t high = vcombine_u16(vmovn_u32(vcgeq_f32(vld1q_f32(z + 8), thresholds)),
                                       vmovn_u32(vcgeq_f32(vld1q_f32(z + 12), thresholds)));
  const uint8x16_t bytes = vcombine_u8(vmovn_u16(low), vmovn_u16(high));
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4)), 0);
}

}  // namespace

size_t threshold_gather(const float* z, size_t n, float threshold, uint32_t* active) {
  const float32x4_t thresholds = vdupq_n_f32(threshold);
  const size_t whole = n / kValues * kValues;
  size_t n_active = 0;
  for (size_t i = 0; i < whole; i += kValues) {
    for (uint64_t bits = fired(z + i, thresholds); bits != 0;) {
      const unsigned first = static_cast<unsigned>(__builtin_ctzll(bits));
      active[n_active++] = static_cast<uint32_t>(i) + first / kBits;
      bits &= ~(uint64_t{0xf} << first);
    }
  }
  for (size_t i = whole; i < n; ++i) {
    if (z[i] >= threshold) active[n_active++] = static_cast<uint32_t>(i);
  }
  return n_active;
}

}  // namespace spiked::kernels::neon
