#include "head/certified.h"

#include <cmath>
#include <vector>

#include "base/half.h"
#include "head/full.h"
#include "kernels/dispatch.h"
#include "tensor/pack.h"
#include "tensor/unpack.h"
#include "unit.h"

namespace {

using namespace spiked;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double uniform() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

/// An output projection in f32 panels with a zero log_prior, or in f16 rows without any: what the head scores is w.x alone.
struct Head {
  Head(size_t rows, size_t cols, DType dtype)
      : w(rows * cols),
        zeros(round_up(rows, 4)),
        halves(rows * cols),
        packed(packed_shape(Layout::kPanel4x32, rows, cols)),
        data(packed.rows * packed.cols) {
    if (dtype == DType::kF16) {
      weights.output = {dtype, Layout::kRowMajor, rows, cols, {packed.rows, cols}, halves.data(), nullptr};
      return;
    }
    weights.output = {dtype, Layout::kPanel4x32, rows, cols, packed, data.data(), nullptr};
    weights.log_prior = zeros.data();
    weights.prior_weight = 1.0f;
  }
  void pack() {
    for (size_t i = 0; i < w.size(); ++i) halves[i] = half::from_f32(w[i]);
    (void)spiked::pack(DType::kF32, Layout::kPanel4x32, w.data(), weights.output.rows, weights.output.cols,
                       data.data(), nullptr);
  }
  std::vector<float> w;
  std::vector<float> zeros;
  std::vector<uint16_t> halves;
  PackedShape packed;
  AlignedArray<float> data;
  HeadWeights weights;
};

int32_t best(const float* logits, std::span<const int32_t> among) {
  int32_t id = among.front();
  for (int32_t r : among)
    if (logits[r] > logits[id]) id = r;
  return id;
}

/// How often the certified head's answer is not full's, of n hidden states that each lie along what the first pass leaves out of one row:
/// there the bound is as tight as it can be.
///
/// Row 0 has one large weight, which few bits hold all but exactly, in a column where row 1 has none; so x's value there sets row 0's score to
/// just below row 1's, and the first pass sees row 1 lower by its whole bound.
size_t wrong_answers(DType dtype, float bound_scale, size_t n, size_t cols, Pool& pool, size_t* proved) {
  const kernels::Kernels& kernels = *kernels::select("").take()->kernels;
  Random random(cols);
  size_t wrong = 0;
  *proved = 0;
  for (size_t i = 0; i < n; ++i) {
    Head head(8, cols, dtype);
    head.w[0] = 64.0f;
    for (size_t c = 32; c < cols; ++c) head.w[cols + c] = static_cast<float>(random.normal());
    head.pack();
    const auto bits = dtype == DType::kF16 ? head::TableBits::k8 : head::TableBits::k4;
    const head::Coarse coarse = head::Coarse::build(pool, head.weights, bits, {}).take();
    std::vector<double> exact(cols), first(round_up(cols, 32));
    unpack_row(head.weights.output, 1, exact.data());
    unpack_row(coarse.table, 1, first.data());
    AlignedArray<float> x(round_up(cols, layout::kActivationPad));
    double score = 0;
    for (size_t c = 0; c < cols; ++c) x[c] = static_cast<float>(exact[c] - first[c]);
    for (size_t c = 0; c < cols; ++c) score += exact[c] * static_cast<double>(x[c]);
    x[0] = static_cast<float>((score - 1e-4 * std::fabs(score)) / 64.0);
    head::OutputRows rows(head.weights.output, pool.size());
    head::Full full(head.weights, rows);
    std::vector<float> expected(head.packed.rows), found(head.packed.rows);
    (void)full.run(pool, kernels, x.data(), 0, 1, expected.data());
    head::Certified certified(head.weights, coarse, rows, pool.size());
    certified.scale_bound(bound_scale);
    head::Step step;
    const auto survivors =
        certified.run(pool, kernels, x.data(), 1, 8, {8, nullptr, 1.0f}, found.data(), step).take();
    *proved += step.fell_back ? 0 : 1;
    const std::vector<int32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
    wrong += best(found.data(), survivors) != best(expected.data(), all);
  }
  return wrong;
}

// Half the bound has to go wrong in more than `least` of 200 states.
void bound_is_needed(unit::Test& t, DType dtype, size_t least) {
  for (size_t cols : {64, 96, 192, 256}) {
    auto pool = Pool::open(cols % 64 == 0 ? 2 : 1).take();
    constexpr size_t n = 200;
    size_t proved = 0;
    t.expect(wrong_answers(dtype, 1.0f, n, cols, *pool, &proved) == 0,
             format("%zu columns: a wrong id", cols));
    t.expect(proved == n, format("%zu columns: %zu of %zu proved", cols, proved, n));
    const size_t wrong = wrong_answers(dtype, 0.5f, n, cols, *pool, &proved);
    t.expect(wrong > least, format("%zu columns: half the bound went wrong only %zu times", cols, wrong));
  }
}

const unit::Unit tight_unit(
    "certified: hidden states along what the first pass leaves out; half the bound is not enough",
    [](unit::Test& t) { bound_is_needed(t, DType::kF32, 100); });

const unit::Unit tight_f16_unit(
    "certified: the same with f16 weights and an int8 first pass; half the bound is not enough",
    [](unit::Test& t) { bound_is_needed(t, DType::kF16, 50); });

}  // namespace
