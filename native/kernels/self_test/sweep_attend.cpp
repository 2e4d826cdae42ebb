#include <iterator>

#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

// Around the registers (4 and 8 floats) and the runs of 32 and 64; 32, 64, 96 and 128 are real heads.
constexpr size_t kHeadDims[] = {1, 3, 4, 7, 8, 9, 29, 32, 63, 64, 65, 96, 128, 197};
// Around the group of four keys.
constexpr size_t kKeys[] = {0, 1, 3, 4, 5, 17};
// Around the groups of four and two heads.
constexpr size_t kHeads[] = {1, 2, 3, 4, 5, 7, 8};
constexpr size_t kSlots = 24;

void fill_rows(Random& random, Pattern pattern, Input<float>& rows) {
  fill(random, pattern, rows.data(), rows.size());
}
void fill_rows(Random& random, Pattern pattern, Input<uint16_t>& rows) {
  fill_f16(random, pattern, rows.data(), rows.size());
}

/// Some heads' attention over random slots of a ring in any order: keys or values `rows` of type T, and their queries or weights.
template <typename T, typename Run>
void sweep(Tally& tally, bool keys, Run run) {
  Random random(tally.seed());
  size_t n_cases = 0;
  for (size_t head_dim : kHeadDims) {
    for (size_t n_keys : kKeys) {
      for (Pattern pattern : kPatterns) {
        const size_t n_heads = kHeads[n_cases++ % std::size(kHeads)];
        const size_t stride = head_dim + random.below(9);
        tally.begin_case(format("%zu heads, %zu keys of %zu, stride %zu, %s", n_heads, n_keys, head_dim,
                                stride, name(pattern)));
        const Pattern other = random.below(2) == 0 ? pattern : Pattern::kRandom;
        const Input<float> vectors(random, other, n_heads * (keys ? head_dim : n_keys), random.below(5));
        Input<T> rows((kSlots - 1) * stride + head_dim, random.below(5));
        fill_rows(random, pattern, rows);
        Input<uint32_t> slots(n_keys);
        for (size_t i = 0; i < n_keys; ++i) slots[i] = static_cast<uint32_t>(random.below(kSlots));
        const size_t n_out = n_heads * (keys ? n_keys : head_dim);
        const Input<float> before(random, Pattern::kRandom, n_out);
        Output<float> out(before.data(), n_out, random.below(5));
        run(vectors.data(), n_heads, rows.data(), stride, slots.data(), n_keys, head_dim, out);
        out.compare(tally, keys ? "scores" : "y");
        if (tally.done()) return;
      }
    }
  }
}

template <typename T, typename Kernel>
void sweep_scores(Kernel scalar, Kernel tested, Tally& tally) {
  sweep<T>(tally, true,
           [&](const float* q, size_t n_heads, const T* k, size_t stride, const uint32_t* slots,
               size_t n_keys, size_t head_dim, Output<float>& out) {
             scalar(q, n_heads, k, stride, slots, n_keys, head_dim, 0.125f, out.reference());
             tested(q, n_heads, k, stride, slots, n_keys, head_dim, 0.125f, out.tested());
           });
}

template <typename T, typename Kernel>
void sweep_values(Kernel scalar, Kernel tested, Tally& tally) {
  sweep<T>(tally, false,
           [&](const float* p, size_t n_heads, const T* v, size_t stride, const uint32_t* slots,
               size_t n_keys, size_t head_dim, Output<float>& out) {
             scalar(p, n_heads, v, stride, slots, n_keys, head_dim, out.reference());
             tested(p, n_heads, v, stride, slots, n_keys, head_dim, out.tested());
           });
}

}  // namespace

void sweep_attend_scores(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_scores<float>(scalar.attend_scores, tested.attend_scores, tally);
}

void sweep_attend_values(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_values<float>(scalar.attend_values, tested.attend_values, tally);
}

void sweep_attend_scores_f16(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_scores<uint16_t>(scalar.attend_scores_f16, tested.attend_scores_f16, tally);
}

void sweep_attend_values_f16(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep_values<uint16_t>(scalar.attend_values_f16, tested.attend_values_f16, tally);
}

}  // namespace spiked::kernels::testing
