#include <algorithm>
#include <array>
#include <cstring>

#include "session/session.h"

namespace spiked {
namespace {

/// A pass of several sequences ends for none of them before its end.
const std::atomic<bool> kNever{false};

}  // namespace

void Session::step_together(std::span<JointStep> steps) {
  std::array<Part, kMaxBatch> parts;
  std::array<JointStep*, kMaxBatch> fed;
  size_t n = 0;
  for (JointStep& step : steps) {
    Session& session = *step.session;
    auto ask = session.checked(step.ask);
    if (!ask.ok()) {
      step.status = ask.status();
      continue;
    }
    step.ask = ask.value();
    step.status = session.check_ids(&step.fed, 1);
    if (step.status.ok() && session.cancel_.load(std::memory_order_relaxed)) {
      step.status = {Code::ERR_CANCELLED, "cancelled"};
      session.tear(step.status);
    }
    session.last_ = nullptr;
    if (!step.status.ok()) continue;
    parts[n] = {&step.fed, 1, session.sequence_.get()};
    fed[n++] = &step;
  }
  if (n == 0) return;

  Session& first = *fed[0]->session;
  Workspace& w = first.workspace_;
  first.model_->network->forward(first.pass_of(kNever), {parts.data(), n}, *w.scratch, nullptr);
  const size_t stride = w.scratch->hidden_stride();
  const auto hidden = [&](size_t i) { return w.scratch->hidden() + i * stride; };
  const auto went_well = [&](size_t i) { return parts[i].status.ok(); };
  for (size_t i = 0; i < n; ++i) {
    Session& session = *fed[i]->session;
    if (!went_well(i)) {
      fed[i]->status = parts[i].status;
      session.tear(parts[i].status);
      continue;
    }
    session.bytes_touched_ = session.kv_bytes_touched_ = 0;
    session.advance(&fed[i]->fed, 1, hidden(i), parts[i].activity);
    session.prefix_ = nullptr;
    session.count_bytes(1, parts[i].activity, n);
  }

  // The full head reads its weights once for neighbours that ask for it. The others may need the scratch: they come after.
  Stopwatch watch(first.profile());
  const auto full = [&](size_t i) { return went_well(i) && Heads::takes_full(fed[i]->ask); };
  for (size_t begin = 0, end; begin < n; begin = end) {
    end = begin + 1;
    if (!full(begin)) continue;
    while (end < n && end - begin < head::kMaxRows && full(end)) ++end;
    std::array<head::Step*, head::kMaxRows> heads;
    for (size_t i = begin; i < end; ++i) heads[i - begin] = &fed[i]->head;
    w.heads.run_full(hidden(begin), stride, end - begin, w.logits.data(), heads.data());
    watch.lap(Operation::kHead);
    w.owner = nullptr;
    for (size_t i = begin; i < end; ++i) {
      JointStep& step = *fed[i];
      const float* logits = w.logits.data() + (i - begin) * w.heads.full().logits_stride();
      step.status = step.session->pick(logits, {}, step.ask, &step.id, &step.logprob, &step.head);
      step.session->last_ = logits;
      step.session->bytes_touched_ += step.head.bytes;
    }
    watch.lap(Operation::kSampling);
  }
  for (size_t i = 0; i < n; ++i)
    if (went_well(i) && !full(i))
      fed[i]->status = fed[i]->session->next(fed[i]->ask, &fed[i]->id, &fed[i]->logprob, &fed[i]->head);
}

}  // namespace spiked
