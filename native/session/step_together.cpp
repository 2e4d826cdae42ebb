#include <algorithm>
#include <array>
#include <cstring>

#include "session/session.h"

namespace spiked {
namespace {

/// A pass of several sequences ends for none of them before its end.
const std::atomic<bool> kNever{false};

}  // namespace

/// One session's part of a pass: an id of the text, then those that were guessed to follow.
struct Session::Round {
  JointStep* step = nullptr;
  std::array<int32_t, kMaxRevocable> ids{};
  size_t n = 0;
  size_t first_row = 0;  // of the pass
  std::array<Activity, kMaxRevocable> each{};
  uint64_t pass_bytes = 0;
  size_t looked = 0;  // positions that are part of the text
  bool over = false;  // the position after them is not
  bool fell = false;  // the pass failed with a draft in it
  bool full = false;  // all its positions' logits are computed at once
};

bool Session::begin(JointStep& step) {
  Session& session = *step.session;
  step.n_guessed = step.n_drawn = 0;
  auto ask = session.checked(step.ask);
  if (!ask.ok()) {
    step.status = ask.status();
    return false;
  }
  step.ask = ask.value();
  step.status = session.check_ids(&step.fed, 1);
  if (step.status.ok() && session.cancel_.load(std::memory_order_relaxed)) {
    step.status = {Code::ERR_CANCELLED, "cancelled"};
    session.tear(step.status);
  }
  session.last_ = nullptr;
  return step.status.ok();
}

size_t Session::guess(const JointStep& step, size_t n, int32_t* out) {
  if (step.ask.sampling.temperature != 0.0f || step.ask.want_logprob) return 0;
  n = std::min({n, step.max_draft, kMaxDraft});
  // The fed id has a place: begin() saw to that.
  if (const size_t room = model_->facts().room; room != 0) n = std::min(n, room - sequence_->position - 1);
  return n == 0 ? 0 : lookup_.guess(history_, step.fed, n, out);
}

void Session::look(Round& round, const float* hidden, const float* logits, const head::Step& head,
                   const Status& ran) {
  JointStep& step = *round.step;
  const size_t at = round.looked++;
  advance(&round.ids[at], 1, hidden, round.each[at]);
  Drawn& drawn = step.drawn[at];
  if (logits != nullptr) {
    drawn.head = head;
    step.status = ran.ok() ? pick(logits, {}, step.ask, &drawn.id, &drawn.logprob, &drawn.head) : ran;
    last_ = ran.ok() ? logits : nullptr;
  } else {
    step.status = next(step.ask, &drawn.id, &drawn.logprob, &drawn.head);
  }
  round.over = true;
  if (!step.status.ok()) return;
  ++step.n_drawn;
  drawn.stats = stats();
  drawn.stats.position -= round.n - round.looked;
  const bool stop = std::find(step.stop_ids.begin(), step.stop_ids.end(), drawn.id) != step.stop_ids.end();
  round.over = round.looked == round.n || stop || drawn.id != round.ids[round.looked];
}

void Session::finish(Round& round) {
  JointStep& step = *round.step;
  if (round.looked < round.n) sequence_->take_back(round.n - round.looked);
  bytes_touched_ = round.pass_bytes;
  for (size_t i = 0; i < step.n_drawn; ++i) {
    Drawn& drawn = step.drawn[i];
    // What the full head did for ids that were not to be is part of what those that were cost.
    if (round.full) {
      drawn.head.bytes = drawn.head.bytes * round.n / step.n_drawn;
      drawn.head.verification_ns = drawn.head.verification_ns * round.n / step.n_drawn;
    }
    bytes_touched_ += drawn.head.bytes;
    drawn.stats.bytes_touched = drawn.head.bytes + (i == 0 ? round.pass_bytes : 0);
    drawn.stats.kv_bytes_touched = i == 0 ? kv_bytes_touched_ : 0;
  }
}

void Session::step_together(std::span<JointStep> steps) {
  std::array<Part, kMaxBatch> parts;
  std::array<Round, kMaxBatch> rounds;
  size_t n = 0, spare = kMaxBatch - steps.size();
  for (JointStep& step : steps) {
    if (!begin(step)) continue;
    Round& round = rounds[n];
    round.step = &step;
    round.ids[0] = step.fed;
    step.n_guessed = step.session->guess(step, spare, &round.ids[1]);
    spare -= step.n_guessed;
    round.n = 1 + step.n_guessed;
    round.full = Heads::takes_full(step.ask);
    Part& part = parts[n++];
    part = {round.ids.data(), round.n, step.session->sequence_.get(), round.n > 1};
    part.each = round.each.data();
  }
  if (n == 0) return;

  Session& first = *rounds[0].step->session;
  Workspace& w = first.workspace_;
  if (!first.model_->network->forward(first.pass_of(n == 1 ? first.cancel_ : kNever), {parts.data(), n},
                                      *w.scratch, nullptr))
    parts[0].status = {Code::ERR_CANCELLED, "cancelled"};

  const size_t stride = w.scratch->hidden_stride();
  const auto hidden = [&](size_t row) { return w.scratch->hidden() + row * stride; };
  std::array<Round*, kMaxBatch> full{};  // by row of the pass: whose logits are computed with its neighbours'
  size_t n_rows = 0;
  for (size_t i = 0; i < n; ++i) {
    Round& round = rounds[i];
    const Part& part = parts[i];
    Session& session = *round.step->session;
    round.first_row = n_rows;
    n_rows += round.n;
    if (!part.status.ok()) {
      round.over = true;
      // A guess must not fail where the text itself would not.
      round.fell = part.revocable && part.status.code() != Code::ERR_CANCELLED;
      round.step->status = part.status;
      if (!round.fell) session.tear(part.status);
      continue;
    }
    session.prefix_ = nullptr;
    session.bytes_touched_ = session.kv_bytes_touched_ = 0;
    session.count_bytes(round.n, part.activity, n);
    round.pass_bytes = session.bytes_touched_;
    if (round.full)
      std::fill_n(full.begin() + static_cast<std::ptrdiff_t>(round.first_row), round.n, &round);
    else
      std::memcpy(w.hidden.data() + round.first_row * stride, hidden(round.first_row),
                  round.n * stride * sizeof(float));
  }

  // The full head reads its weights once for neighbours that ask for it. The others may need the scratch: they come after.
  Stopwatch watch(first.profile());
  for (size_t begin = 0, end; begin < n_rows; begin = end) {
    end = begin + 1;
    if (full[begin] == nullptr) continue;
    while (end < n_rows && end - begin < head::kMaxRows && full[end] != nullptr) ++end;
    std::array<head::Step, head::kMaxRows> heads;
    std::array<head::Step*, head::kMaxRows> to;
    for (size_t i = 0; i < to.size(); ++i) to[i] = &heads[i];
    const Status ran = w.heads.run_full(hidden(begin), stride, end - begin, w.logits.data(), to.data());
    watch.lap(Operation::kHead);
    w.owner = nullptr;
    for (size_t row = begin; row < end; ++row) {
      if (full[row]->over) continue;
      full[row]->step->session->look(*full[row], hidden(row),
                                     w.logits.data() + (row - begin) * w.heads.full().logits_stride(),
                                     heads[row - begin], ran);
    }
    watch.lap(Operation::kSampling);
  }
  for (size_t i = 0; i < n; ++i) {
    Round& round = rounds[i];
    Session& session = *round.step->session;
    while (!round.over)
      session.look(round, w.hidden.data() + (round.first_row + round.looked) * stride, nullptr, {}, {});
    if (parts[i].status.ok()) session.finish(round);
  }
  for (size_t i = 0; i < n; ++i) {
    if (!rounds[i].fell) continue;
    rounds[i].step->max_draft = 0;
    step_together({rounds[i].step, 1});
  }
}

}  // namespace spiked
