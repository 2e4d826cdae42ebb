#include "session/heads.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "session/calibration.h"

namespace spiked {
namespace {

// Entropy, a log-probability and sampling without a top-k depend on every row.
bool needs_every_row(const Ask& ask) { return ask.want_logprob || ask.sampling.adaptive_temperature; }

size_t n_best(const sampler::Settings& s) { return s.temperature == 0.0f ? 1 : s.top_k; }

}  // namespace

Heads::Heads(const Model& model)
    : model_(model),
      output_(model.network->head().output, model.engine->pool->size()),
      full_(model.network->head(), output_) {}

head::Rules Heads::rules(const Ask& ask, std::span<const int32_t> history) {
  head::Rules rules{ask.valid, nullptr, ask.sampling.repetition_penalty};
  if (ask.sampling.banned.empty() && rules.penalty == 1.0f) return rules;
  kinds_.assign(ask.valid, head::Rules::kPlain);
  const auto mark = [&](std::span<const int32_t> ids, uint8_t kind) {
    for (int32_t id : ids)
      if (id >= 0 && static_cast<size_t>(id) < ask.valid) kinds_[static_cast<size_t>(id)] = kind;
  };
  if (rules.penalty != 1.0f) mark(history, head::Rules::kPenalised);
  mark(ask.sampling.banned, head::Rules::kBanned);
  rules.kind = kinds_.data();
  return rules;
}

bool Heads::takes_full(const Ask& ask) {
  return needs_every_row(ask) || ask.head.mode == head::Mode::kFull ||
         ((ask.head.mode == head::Mode::kCertified || ask.head.mode == head::Mode::kTopK) &&
          n_best(ask.sampling) == 0);
}

Status Heads::run_full(const float* hidden, size_t hidden_stride, size_t n, float* logits,
                       head::Step* const* steps) {
  Clock clock(true);
  const Status ran =
      full_.run(*model_.engine->pool, *model_.engine->isa->kernels, hidden, hidden_stride, n, logits);
  const uint64_t ns = clock.lap();
  for (size_t i = 0; i < n; ++i) {
    *steps[i] = {};
    steps[i]->proved = true;
    steps[i]->rows = static_cast<uint32_t>(model_.network->head().output.rows);
    // What they cost together, in equal parts.
    steps[i]->verification_ns = ns / n;
    steps[i]->bytes = full_.logical_bytes() / n;
  }
  return ran;
}

// Fresh pages cost nothing until they are written: a head can say what it needs before it has it.
template <typename Head>
Status Heads::keep(std::unique_ptr<Head>& place, std::unique_ptr<Head> made) {
  auto held = model_.ask(Memory::kScratch, made->size_bytes(), "a head's scratch");
  if (!held.ok()) return held.status();
  model_.reserved.push_back(held.take());
  place = std::move(made);
  return {};
}

Status Heads::run(const float* hidden, const Ask& ask, std::span<const int32_t> history, float* logits,
                  std::span<const int32_t>* rows, head::Step* step) {
  const HeadWeights& w = model_.network->head();
  *step = {};
  *rows = {};
  if (takes_full(ask)) return run_full(hidden, 0, 1, logits, &step);
  Pool& pool = *model_.engine->pool;
  const kernels::Kernels& k = *model_.engine->isa->kernels;
  for (size_t i = 0; i < w.output.cols; ++i)
    if (!std::isfinite(hidden[i]))
      return {Code::ERR_MODEL_INVALID,
              format("the hidden state is %g in dimension %zu: the model's weights are not finite",
                     static_cast<double>(hidden[i]), i)};
  const head::Rules found = rules(ask, history);
  if (ask.head.mode == head::Mode::kCertified) return certified(hidden, ask, found, logits, rows, step);
  if (ask.head.mode == head::Mode::kTopK) return topk(hidden, ask, found, logits, rows, step);
  if (ask.head.mode == head::Mode::kGate) {
    if (!gate_) SPIKED_TRY(keep(gate_, std::make_unique<head::Gate>(w, output_)));
    gate_->run(pool, k, hidden, ask.head, found, logits, *step);
    return {};
  }
  if (!scan_) SPIKED_TRY(keep(scan_, std::make_unique<head::Scan>(w)));
  scan_->run(pool, k, hidden, ask.head.activations, head::Scope::kHead, logits, *step);
  return {};
}

Status Heads::certified(const float* hidden, const Ask& ask, const head::Rules& rules, float* logits,
                        std::span<const int32_t>* rows, head::Step* step) {
  const HeadWeights& w = model_.network->head();
  Pool& pool = *model_.engine->pool;
  if (!certified_) {
    SPIKED_TRY(make_tables());
    SPIKED_TRY(keep(certified_, std::make_unique<head::Certified>(w, *coarse_, output_, pool.size())));
  }
  const size_t cap = ask.head.cap == 0 ? w.output.rows * 3 / 8 : ask.head.cap;
  auto survivors = certified_->run(pool, *model_.engine->isa->kernels, hidden, n_best(ask.sampling), cap,
                                   rules, logits, *step);
  if (!survivors.ok()) return survivors.status();
  if (!step->fell_back) *rows = survivors.value();
  return {};
}

Status Heads::topk(const float* hidden, const Ask& ask, const head::Rules& rules, float* logits,
                   std::span<const int32_t>* rows, head::Step* step) {
  Pool& pool = *model_.engine->pool;
  if (!topk_) {
    SPIKED_TRY(make_tables());
    SPIKED_TRY(
        keep(topk_, std::make_unique<head::TopK>(model_.network->head(), *coarse_, output_, pool.size())));
  }
  // A draw from the top k needs as many to draw from.
  const size_t k = std::min(std::max<size_t>(ask.head.k, n_best(ask.sampling)), head::kBlockRows);
  auto found = topk_->run(pool, *model_.engine->isa->kernels, hidden, k, rules, logits, *step);
  if (!found.ok()) return found.status();
  if (found.value().empty()) return run_full(hidden, 0, 1, logits, &step);
  *rows = found.value();
  return {};
}

Status Heads::make_tables() {
  if (coarse_) return {};
  auto coarse = coarse_head(model_.shared_from_this());
  if (!coarse.ok()) return coarse.status();
  coarse_ = coarse.take();
  return {};
}

size_t Heads::size_bytes() const {
  return output_.size_bytes() + full_.size_bytes() + (scan_ ? scan_->size_bytes() : 0) +
         (gate_ ? gate_->size_bytes() : 0) + (certified_ ? certified_->size_bytes() : 0) +
         (topk_ ? topk_->size_bytes() : 0) + kinds_.size();
}

}  // namespace spiked
