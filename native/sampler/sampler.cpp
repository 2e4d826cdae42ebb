#include "sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "base/penalty.h"

namespace spiked::sampler {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr double kEntropyFloor = 1e-7;

bool before(const Candidate& a, const Candidate& b) {
  return a.probability > b.probability || (a.probability == b.probability && a.id < b.id);
}

Status bad(const char* name, const char* expected, double found) {
  return {Code::ERR_INVALID_ARGUMENT, format("%s: expected %s, found %g", name, expected, found)};
}

/// log of the sum of exp(logits[i]) over [begin, end), in two parts: the largest logit, and the log of what is left.
struct LogSum {
  double top, log_sum;
};

LogSum log_sum_exp(const float* logits, size_t begin, size_t end) {
  float top = logits[begin];
  for (size_t i = begin + 1; i < end; ++i) top = logits[i] > top ? logits[i] : top;
  double sum = 0;
  for (size_t i = begin; i < end; ++i)
    sum += math::exp_f64(static_cast<double>(logits[i]) - static_cast<double>(top));
  return {static_cast<double>(top), math::log_f64(sum)};
}

}  // namespace

Status Settings::check() const {
  if (!(temperature >= 0.0f) || !std::isfinite(temperature))
    return bad("temperature", "a finite number of at least 0", static_cast<double>(temperature));
  if (!(top_p > 0.0f && top_p <= 1.0f)) return bad("top_p", "a number in (0, 1]", static_cast<double>(top_p));
  if (!(repetition_penalty > 0.0f) || !std::isfinite(repetition_penalty))
    return bad("repetition_penalty", "a finite number above 0", static_cast<double>(repetition_penalty));
  return {};
}

Status Sampler::copy(const float* logits, size_t valid, std::span<const int32_t> rows) {
  const size_t n = rows.empty() ? valid : rows.size();
  if (!rows.empty()) std::fill(scores_.begin(), scores_.end(), kMasked);
  for (size_t i = 0; i < n; ++i) {
    const size_t id = rows.empty() ? i : static_cast<size_t>(rows[i]);
    if (!std::isfinite(logits[id]))
      return {Code::ERR_MODEL_INVALID, format("the logit of id %zu is %g: the model's weights are not finite",
                                              id, static_cast<double>(logits[id]))};
    scores_[id] = logits[id];
  }
  return {};
}

void Sampler::mask(size_t valid, std::span<const int32_t> history, const Settings& s) {
  if (s.repetition_penalty != 1.0f) {
    std::fill(seen_.begin(), seen_.end(), uint8_t{0});
    for (int32_t id : history) {
      const auto i = static_cast<size_t>(id);
      if (i >= valid || seen_[i] != 0) continue;
      seen_[i] = 1;
      scores_[i] = penalised(scores_[i], s.repetition_penalty);
    }
  }
  for (int32_t id : s.banned)
    if (id >= 0 && static_cast<size_t>(id) < valid) scores_[static_cast<size_t>(id)] = kMasked;
}

double Sampler::temperature(size_t valid, const Settings& s) const {
  const double base = static_cast<double>(s.temperature);
  if (!s.adaptive_temperature) return base;
  double top = static_cast<double>(kMasked), sum = 0, entropy = 0;
  for (size_t i = 0; i < valid; ++i) top = std::max(top, static_cast<double>(scores_[i]));
  for (size_t i = 0; i < valid; ++i) sum += math::exp_f64(static_cast<double>(scores_[i]) - top);
  for (size_t i = 0; i < valid; ++i) {
    const double p = math::exp_f64(static_cast<double>(scores_[i]) - top) / sum;
    const double clamped = p < kEntropyFloor ? kEntropyFloor : p;
    entropy -= clamped * math::log_f64(clamped);
  }
  // Ids beyond the tokenizer have probability 0, which the clamp lifts to the floor like any other.
  entropy -= static_cast<double>(scores_.size() - valid) * kEntropyFloor * math::log_f64(kEntropyFloor);
  const double share = valid > 1 ? entropy / math::log_f64(static_cast<double>(valid)) : 0.0;
  if (style_ == Style::k194m) return std::max(0.1, base - share * (base - 0.1));
  const double low = std::max(0.1, base / 2), high = std::min(1.5, base * 1.5);
  return low + share * (high - low);
}

// candidates_ hold scores here; the 194M form keeps every id that ties with the last one kept.
void Sampler::keep_top_k(uint32_t top_k) {
  const size_t k = top_k == 0 ? candidates_.size() : std::min<size_t>(top_k, candidates_.size());
  if (k < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k) - 1,
                     candidates_.end(), before);
    const float last = candidates_[k - 1].probability;
    auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
    if (style_ == Style::k194m)
      end = std::partition(end, candidates_.end(), [&](const Candidate& c) { return c.probability == last; });
    candidates_.erase(end, candidates_.end());
  }
  std::sort(candidates_.begin(), candidates_.end(), before);
}

// Drops an id where the cumulative probability of those before it exceeds top_p; the first stays.
void Sampler::keep_top_p(float top_p) {
  if (top_p >= 1.0f) return;
  double cumulative = 0;
  size_t n = 0;
  while (n < candidates_.size() && !(n > 0 && cumulative > static_cast<double>(top_p)))
    cumulative += static_cast<double>(candidates_[n++].probability);
  candidates_.resize(n);
  for (Candidate& c : candidates_)
    c.probability = static_cast<float>(static_cast<double>(c.probability) / cumulative);
}

Result<std::span<const Candidate>> Sampler::distribution(const float* logits, size_t valid,
                                                         std::span<const int32_t> history, const Settings& s,
                                                         std::span<const int32_t> rows) {
  SPIKED_TRY(s.check());
  SPIKED_TRY(copy(logits, valid, rows));
  mask(valid, history, s);
  candidates_.clear();
  for (size_t i = 0; i < valid; ++i)
    if (scores_[i] != kMasked) candidates_.push_back({static_cast<int32_t>(i), scores_[i]});
  if (candidates_.empty())
    return Status{Code::ERR_INVALID_ARGUMENT, format("banned: all %zu ids are banned", valid)};
  if (s.temperature == 0.0f) {
    Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), before);
    best.probability = 1.0f;
    candidates_.assign(1, best);
    return std::span<const Candidate>(candidates_);
  }
  const double t = temperature(valid, s);
  keep_top_k(s.top_k);
  const double top = static_cast<double>(candidates_.front().probability);
  double sum = 0;
  for (const Candidate& c : candidates_) sum += math::exp_f64((static_cast<double>(c.probability) - top) / t);
  for (Candidate& c : candidates_)
    c.probability = static_cast<float>(math::exp_f64((static_cast<double>(c.probability) - top) / t) / sum);
  keep_top_p(s.top_p);
  return std::span<const Candidate>(candidates_);
}

int32_t Sampler::draw(std::span<const Candidate> candidates, Generator& generator) {
  const double u = generator.uniform();
  double cumulative = 0;
  for (const Candidate& c : candidates) {
    cumulative += static_cast<double>(c.probability);
    if (cumulative > u) return c.id;
  }
  return candidates.back().id;  // the sum may end a rounding below u
}

double log_probability(const float* logits, size_t valid, int32_t id) {
  const LogSum all = log_sum_exp(logits, 0, valid);
  return static_cast<double>(logits[id]) - all.top - all.log_sum;
}

double mass_beyond(const float* logits, size_t valid, size_t vocab) {
  if (valid >= vocab) return 0;
  const LogSum kept = log_sum_exp(logits, 0, valid), masked = log_sum_exp(logits, valid, vocab);
  return 1 / (1 + math::exp_f64((kept.top - masked.top) + (kept.log_sum - masked.log_sum)));
}

}  // namespace spiked::sampler
