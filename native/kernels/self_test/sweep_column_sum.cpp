#include "base/status.h"
#include "kernels/self_test/buffers.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels::testing {
namespace {

struct Shape {
  size_t rows, row_begin, row_end;
};

// Around the row block (64) and the visit of 2048 rows; 1536 is a model's real width.
constexpr Shape kShapes[] = {{64, 0, 64},     {128, 64, 128},    {192, 0, 128}, {2048, 0, 2048},
                             {2112, 0, 2112}, {1536, 768, 1536}, {128, 64, 64}};
// Around the group of 255 columns whose int16 sums are widened, and past the 258 at which +127 overflows them.
constexpr size_t kActive[] = {0, 1, 2, 3, 9, 29, 254, 255, 256, 300};
constexpr size_t kColumns = 320;

/// n ascending column numbers out of kColumns.
Input<uint32_t> choose(Random& random, size_t n) {
  Input<uint32_t> active(n);
  size_t chosen = 0;
  for (size_t c = 0; c < kColumns && chosen < n; ++c) {
    if (random.below(kColumns - c) < n - chosen) active[chosen++] = static_cast<uint32_t>(c);
  }
  return active;
}

/// run(kernel, w, active, shape, y)
template <typename W, typename Y, typename Kernel, typename Run>
void sweep(Kernel scalar, Kernel tested, Tally& tally, Run run) {
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (Pattern pattern : kPatterns) {
      const Input<W> w(random, pattern, s.rows * kColumns);
      for (size_t n_active : kActive) {
        tally.begin_case(format("%zu rows [%zu, %zu), %zu active columns, %s", s.rows, s.row_begin, s.row_end,
                                n_active, name(pattern)));
        const Input<uint32_t> active = choose(random, n_active);
        const Input<float> before(random, Pattern::kRandom, s.rows);
        Output<Y> y(reinterpret_cast<const Y*>(before.data()), s.rows, random.below(4));
        run(scalar, w.data(), active, s, y.reference());
        run(tested, w.data(), active, s, y.tested());
        y.compare(tally, "y");
        if (tally.done()) return;
      }
    }
  }
}

}  // namespace

void sweep_column_sum_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<float, float>(
      scalar.column_sum_f32, tested.column_sum_f32, tally,
      [](ColumnSumF32 kernel, const float* w, const Input<uint32_t>& active, const Shape& s, float* y) {
        kernel(w, s.rows, active.data(), active.size(), s.row_begin, s.row_end, y);
      });
}

void sweep_column_product_f32(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<float, float>(
      scalar.column_product_f32, tested.column_product_f32, tally,
      [](ColumnProductF32 kernel, const float* w, const Input<uint32_t>& active, const Shape& s, float* y) {
        // As many columns as the case has active ones; any numbers do for x.
        kernel(w, s.rows, w + kColumns, active.size(), s.row_begin, s.row_end, y);
      });
}

void sweep_column_sum_i8(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  sweep<int8_t, int32_t>(
      scalar.column_sum_i8, tested.column_sum_i8, tally,
      [](ColumnSumI8 kernel, const int8_t* w, const Input<uint32_t>& active, const Shape& s, int32_t* sums) {
        kernel(w, s.rows, active.data(), active.size(), s.row_begin, s.row_end, sums);
      });
}

void sweep_scale_sums(const Kernels& scalar, const Kernels& tested, Tally& tally) {
  constexpr size_t kParts[] = {1, 2, 3, 8};
  Random random(tally.seed());
  for (const Shape& s : kShapes) {
    for (size_t n_parts : kParts) {
      const size_t stride = s.rows + 16 * random.below(2);
      // Any rows, also no whole registers.
      const size_t begin = s.row_begin + random.below(20), past = s.row_end - random.below(20);
      const size_t end = past < begin ? begin : past;
      tally.begin_case(format("%zu rows [%zu, %zu), %zu parts", s.rows, begin, end, n_parts));
      Input<int32_t> parts(n_parts * stride);
      // Their total stays below 2^31.
      for (size_t i = 0; i < parts.size(); ++i)
        parts[i] = static_cast<int32_t>(random.below(size_t{1} << 28)) - (1 << 27);
      const Input<float> scale(random, Pattern::kRandom, s.rows), before(random, Pattern::kRandom, s.rows);
      Output<float> y(before.data(), s.rows, random.below(4));
      scalar.scale_sums(parts.data(), stride, n_parts, scale.data(), begin, end, y.reference());
      tested.scale_sums(parts.data(), stride, n_parts, scale.data(), begin, end, y.tested());
      y.compare(tally, "y");
      if (tally.done()) return;
    }
  }
}

}  // namespace spiked::kernels::testing
