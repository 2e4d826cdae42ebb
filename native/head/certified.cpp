#include "head/certified.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "head/rows.h"
#include "ops/linear.h"

namespace spiked::head {
namespace {

// The k largest of `values`, in any order.
void keep_largest(std::vector<float>& values, size_t k) {
  if (values.size() <= k) return;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k) - 1, values.end(),
                   std::greater<>());
  values.resize(k);
}

}  // namespace

/// What the workers share of one run.
class Certified::Region {
 public:
  Region(Certified& self, const kernels::Kernels& kernels, size_t k, size_t cap, const Rules& rules,
         float* logits, Step& step)
      : me_(self),
        k_(kernels),
        w_(self.w_),
        coarse_(self.coarse_),
        n_best_(k),
        cap_(cap),
        rules_(rules),
        logits_(logits),
        step_(step),
        n_rows_(rules.valid) {}

  void work(Team& team) {
    const bool first = team.index() == 0;
    Clock clock(first);
    prior_hidden(k_, w_, team, me_.x_.data(), me_.x_.data() + coarse_.c_cols);
    team.barrier();
    step_time(clock, step_.prior_ns);
    if (first) prepare();
    team.barrier();
    if (!bound_.usable) return compute(team, clock, true);
    split_columns(team, [&](const Range& rows) { scan(rows); });
    team.barrier();
    step_time(clock, step_.projection_ns);
    std::vector<float>& best = me_.best_low_[team.index()];
    best.clear();
    split_columns(team, [&](const Range& rows) { bound(rows, best); });
    team.barrier();
    if (first) select();
    team.barrier();
    step_time(clock, step_.selection_ns);
    compute(team, clock, step_.fell_back);
  }

 private:
  void step_time(Clock& clock, uint64_t& ns) {
    if (clock.on()) ns = clock.lap();
  }

  void prepare() {
    const size_t cols = coarse_.c_cols + coarse_.g_cols;
    ops::quantize(k_, me_.x_.data(), cols, 1, cols, rows());
    bound_ =
        bound_of(coarse_, w_,
                 {me_.x_.data(), me_.q_.data(), k_.i16_order, q_scale_, me_.along_.data(), me_.rest_.data()},
                 me_.bound_scale_);
    step_.fell_back = !bound_.usable;
  }

  ops::QuantizedRows rows() {
    return {ops::Activations::kI16, nullptr, me_.q_.data(), &q_scale_, coarse_.c_cols + coarse_.g_cols};
  }

  // Shares out the rows of the first pass, in whole columns.
  template <typename F>
  void split_columns(Team& team, F&& body) {
    const size_t n = (n_rows_ + layout::kColumnRows - 1) / layout::kColumnRows;
    team.split(n, 1, 8, [&](const Range& columns) {
      body(Range{columns.begin * layout::kColumnRows, std::min(columns.end * layout::kColumnRows, n_rows_)});
    });
  }

  // First-pass scores in low_, what lies along the directions in high_.
  void scan(const Range& mine) {
    const size_t end = std::min(round_up(mine.end, layout::kPanelRows), coarse_.table.packed.rows);
    ops::linear(k_, coarse_.table, rows(), 1, mine.begin / layout::kPanelRows, end / layout::kPanelRows,
                me_.low_.data(), 0);
    k_.column_product_f32(
        coarse_.along.data(), coarse_.rows_padded, me_.along_.data(), coarse_.n_directions(), mine.begin,
        std::min(round_up(mine.end, layout::kColumnRows), coarse_.rows_padded), me_.high_.data());
  }

  // Scores become both ends of each row's final score; `best` keeps the n_best_ largest lower ends of all that this worker took.
  void bound(const Range& mine, std::vector<float>& best) {
    float *low = me_.low_.data(), *high = me_.high_.data();
    const float *rest_c = coarse_.rest_c.data(), *rest_g = coarse_.rest_g.data();
    const bool has_g = coarse_.g_cols != 0;
    for (size_t r = mine.begin; r < mine.end; ++r) {
      const float score = low[r] + high[r];
      const float off_g = has_g ? rest_g[r] * bound_.g_rest : 0.0f;
      const float off = rest_c[r] * bound_.c_rest + off_g + bound_.slack;
      low[r] = score - off;
      high[r] = score + off;
    }
    if (w_.log_prior != nullptr)
      for (size_t r = mine.begin; r < mine.end; ++r) {
        const float prior = w_.prior_weight * w_.log_prior[r];
        low[r] += prior;
        high[r] += prior;
      }
    if (rules_.kind != nullptr)
      for (size_t r = mine.begin; r < mine.end; ++r) {
        low[r] = rules_.apply(r, low[r]);
        high[r] = rules_.apply(r, high[r]);
      }
    if (n_best_ == 1) {
      float top = best.empty() ? kNever : best[0];
      for (size_t r = mine.begin; r < mine.end; ++r) top = low[r] > top ? low[r] : top;
      best.assign(1, top);
      return;
    }
    best.insert(best.end(), low + mine.begin, low + mine.end);
    keep_largest(best, n_best_);
  }

  // The n_best_-th largest lower end: a row whose upper end is below it has n_best_ rows above it.
  float cut() {
    std::vector<float>& all = me_.best_low_[0];
    for (size_t i = 1; i < me_.best_low_.size(); ++i) {
      all.insert(all.end(), me_.best_low_[i].begin(), me_.best_low_[i].end());
      keep_largest(all, n_best_);
    }
    if (all.size() < n_best_) return kNever;
    return *std::min_element(all.begin(), all.end());
  }

  void select() {
    const float least = cut(), *high = me_.high_.data();
    const size_t unit_rows = me_.output_.unit();
    size_t n_rows = 0;
    for (size_t r = 0; r < n_rows_; ++r) {
      if (high[r] < least || high[r] == kNever) continue;
      me_.survivors_.push_back(static_cast<int32_t>(r));
      const auto unit = static_cast<uint32_t>(r / unit_rows);
      if (!me_.units_.empty() && me_.units_.back() == unit) continue;
      me_.units_.push_back(unit);
      n_rows += unit_rows;
    }
    step_.survivors = static_cast<uint32_t>(me_.survivors_.size());
    step_.fell_back = n_rows > cap_ || me_.survivors_.size() < n_best_;
    if (step_.fell_back) me_.survivors_.clear();
  }

  // Exact logits: of the survivors' units, or of all.
  void compute(Team& team, Clock& clock, bool all) {
    const float *hidden = me_.x_.data(), *prior = hidden + coarse_.c_cols;
    const auto score = [&](size_t unit_rows, size_t begin, size_t end) {
      score_rows(k_, w_, me_.output_, team.index(), hidden, prior, {begin * unit_rows, end * unit_rows},
                 logits_, me_.branch_.data());
    };
    if (all) {
      head::split_rows(team, w_.output,
                       [&](const Range& units) { score(w_.output.row_unit(), units.begin, units.end); });
    } else {
      team.split(me_.units_.size(), 1, kUnitsAtOnce, [&](const Range& mine) {
        for (size_t i = mine.begin; i < mine.end; ++i)
          score(me_.output_.unit(), me_.units_[i], me_.units_[i] + 1);
      });
    }
    team.barrier();
    step_time(clock, step_.verification_ns);
  }

  Certified& me_;
  const kernels::Kernels& k_;
  const HeadWeights& w_;
  const Coarse& coarse_;
  size_t n_best_, cap_;
  const Rules& rules_;
  float* logits_;
  Step& step_;
  size_t n_rows_;
  float q_scale_ = 1.0f;
  Bound bound_;
};

Certified::Certified(const HeadWeights& weights, const Coarse& coarse, OutputRows& output, unsigned n_workers)
    : w_(weights),
      coarse_(coarse),
      output_(output),
      x_(coarse.c_cols + round_up(coarse.g_cols, layout::kActivationPad) + layout::kActivationPad),
      q_(x_.size()),
      along_(coarse.n_directions()),
      rest_(std::max(coarse.c_cols, coarse.g_cols)),
      low_(coarse.rows_padded),
      high_(coarse.rows_padded),
      branch_(weights.has_dynamic_prior() ? weights.output.packed.rows : 0),
      best_low_(n_workers) {}

Result<std::span<const int32_t>> Certified::run(Pool& pool, const kernels::Kernels& kernels,
                                                const float* hidden, size_t k, size_t cap, const Rules& rules,
                                                float* logits, Step& step) {
  units_.clear();
  survivors_.clear();
  // The region must not allocate.
  units_.reserve(coarse_.table.packed.rows / output_.unit());
  survivors_.reserve(rules.valid);
  for (std::vector<float>& best : best_low_) best.reserve(k == 1 ? 2 : rules.valid + k);
  std::copy(hidden, hidden + w_.output.cols, x_.data());
  step.mode = Mode::kCertified;
  Region region(*this, kernels, k, cap, rules, logits, step);
  pool.run([&](Team& team) { region.work(team); });
  SPIKED_TRY(output_.end());
  step.proved = true;  // by the bound, or because every row was computed
  const size_t exact = step.fell_back ? w_.output.rows : units_.size() * output_.unit();
  step.rows = static_cast<uint32_t>(exact);
  step.bytes = coarse_.scan_bytes(rules.valid) + exact * row_bytes(w_) + w_.prior_in.logical_bytes();
  return std::span<const int32_t>(survivors_);
}

size_t Certified::size_bytes() const {
  return (x_.size() + along_.size() + low_.size() + high_.size() + branch_.size()) * sizeof(float) +
         rest_.size() * sizeof(double) + q_.size() * sizeof(int16_t);
}

}  // namespace spiked::head
