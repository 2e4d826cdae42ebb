#include "generate_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace spiked::addon {
namespace {

/// Steps that the engine may be ahead of JavaScript: enough to work on while JavaScript does something long, few enough to throw away.
constexpr size_t kMostAhead = 256;
/// The last of them may come with as many others.
constexpr size_t kMostWaiting = kMostAhead + SPIKED_MAX_DRAFT;
/// A step that comes sooner after the last call for JavaScript waits for the next one: waking a thread costs as much as a small model's step.
constexpr uint64_t kHoldNs = 1'000'000;
/// Numbers of a row.
constexpr size_t kColumns = 29;
constexpr uint64_t kNsPerS = 1'000'000'000;

}  // namespace

GenerateLimits GenerateLimits::read(ArgReader& args, const Napi::Value& options) {
  constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
  GenerateLimits out;
  const Napi::Object object = args.object(options, "options");
  if (args.failed()) return out;
  const char* max_tokens = "options.maxTokens";
  out.max_tokens = static_cast<uint64_t>(
      args.integer(args.property(object, "maxTokens", max_tokens), max_tokens, 1, kMaxInt));
  out.stop_ids = args.ids(args.property(object, "stopIds", "options.stopIds"), "options.stopIds");
  if (args.failed()) return out;
  const char* max_draft = "options.maxDraft";
  const Napi::Value draft = args.property(object, "maxDraft", max_draft);
  if (!args.failed() && !draft.IsUndefined())
    out.max_draft = static_cast<uint32_t>(args.integer(draft, max_draft, 0, SPIKED_MAX_DRAFT));
  return out;
}

GenerateJob::GenerateJob(Napi::Env env, Session& session, std::vector<int32_t> ids, StepSettings settings,
                         GenerateLimits limits, std::shared_ptr<Outbox> outbox)
    : SessionJob(env, session, std::move(ids)),
      settings_(std::move(settings)),
      limits_(std::move(limits)),
      outbox_(std::move(outbox)) {
  waiting_.reserve(kMostWaiting);
  handed_.reserve(kMostWaiting);
}

void GenerateJob::run() {
  GenerateJob* const self = this;
  if (ids_.size() == 1 && limits_.max_draft != 0)
    step_together({&self, 1});
  else
    step_alone();
}

void GenerateJob::step_alone() {
  Taken taken{};
  Step step;
  failure_ = step.take(handle_, ids_, settings_);
  if (failure_) {
    over_ = true;
    return;
  }
  taken.drawn = {step.id, step.logprob, step.t_ns, step.head, {}};
  spiked_session_get_stats(handle_, &taken.drawn.stats);
  accept(taken);
}

void GenerateJob::run_together(std::span<const std::unique_ptr<Job>> jobs) {
  std::array<GenerateJob*, SPIKED_MAX_JOINT> all;
  std::transform(jobs.begin(), jobs.end(), all.begin(),
                 [](const std::unique_ptr<Job>& job) { return static_cast<GenerateJob*>(job.get()); });
  step_together({all.data(), jobs.size()});
}

void GenerateJob::step_together(std::span<GenerateJob* const> jobs) {
  std::array<spiked_joint_step, SPIKED_MAX_JOINT> steps;
  std::array<spiked_sampling, SPIKED_MAX_JOINT> samplings;
  for (size_t i = 0; i < jobs.size(); ++i) {
    samplings[i] = jobs[i]->settings_.sampling.c();
    steps[i] = jobs[i]->ask(samplings[i]);
  }
  spiked_error error{};
  const bool stepped = spiked_sessions_step(steps.data(), jobs.size(), &error) == SPIKED_OK;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (stepped)
      jobs[i]->accept(steps[i]);
    else
      jobs[i]->fail(error);
  }
}

spiked_joint_step GenerateJob::ask(const spiked_sampling& sampling) {
  spiked_joint_step step{};
  step.session = handle_;
  step.fed = ids_[0];
  step.sampling = &sampling;
  step.head = &settings_.head;
  step.want_logprob = settings_.want_logprob ? 1 : 0;
  step.max_draft = static_cast<uint32_t>(std::min<uint64_t>(limits_.max_draft, limits_.max_tokens - 1));
  step.stop_ids = limits_.stop_ids.data();
  step.n_stop_ids = limits_.stop_ids.size();
  step.drawn = drawn_.data();
  return step;
}

void GenerateJob::accept(const spiked_joint_step& step) {
  for (size_t i = 0; i < step.n_drawn; ++i) {
    Taken taken{drawn_[i]};
    if (i == 0 && limits_.max_draft != 0) {
      taken.n_guessed = static_cast<int32_t>(step.n_guessed);
      taken.n_right = static_cast<int32_t>(step.n_drawn) - 1;
    }
    accept(taken);
  }
  if (step.error.code != SPIKED_OK) fail(step.error);
}

void GenerateJob::fail(const spiked_error& error) {
  failure_ = failure_of(error);
  over_ = true;
}

void GenerateJob::accept(const Taken& taken) {
  const int32_t id = taken.drawn.id;
  ids_.assign(1, id);
  const bool stop = std::find(limits_.stop_ids.begin(), limits_.stop_ids.end(), id) != limits_.stop_ids.end();
  over_ = --limits_.max_tokens == 0 || stop || session_.pausing() || over_;
  over_ = push(taken) || over_;
}

bool GenerateJob::push(const Taken& taken) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(taken);
  const bool full = waiting_.size() >= kMostAhead;
  // The last steps come with the job itself.
  if (!over_ && !full && taken.drawn.t_ns - announced_ns_ >= kHoldNs) announce(lock);
  return full;
}

void GenerateJob::yield() {
  std::unique_lock lock(mutex_);
  if (!waiting_.empty()) announce(lock);
}

void GenerateJob::announce(std::unique_lock<std::mutex>& lock) {
  if (announced_) return;
  announced_ = true;
  announced_ns_ = waiting_.back().drawn.t_ns;
  lock.unlock();  // else JavaScript, once awake, would wait for it
  outbox_->announce(*this);
}

void GenerateJob::hand_over(Napi::Env env) {
  handed_.clear();
  {
    std::lock_guard lock(mutex_);
    handed_.swap(waiting_);
    announced_ = false;
  }
  if (handed_.empty()) return;
  Napi::HandleScope scope(env);
  if (!can_run_javascript(env)) return;
  double* row = session_.rows(handed_.size() * kColumns);
  if (row == nullptr) {
    spiked_session_cancel(handle_);
    return;
  }
  for (const Taken& taken : handed_) row = write_row(taken, row);
  session_.hand_over(env, handed_.size());
}

double* GenerateJob::write_row(const Taken& taken, double* row) const {
  const spiked_drawn& drawn = taken.drawn;
  const spiked_head_step& head = drawn.head_step;
  const spiked_session_stats& stats = drawn.stats;
  const double columns[] = {
      static_cast<double>(drawn.id),
      settings_.want_logprob ? static_cast<double>(drawn.logprob) : std::nan(""),
      static_cast<double>(drawn.t_ns / kNsPerS),  // whole nanoseconds would not fit after 104 days
      static_cast<double>(drawn.t_ns % kNsPerS),
      static_cast<double>(head.mode),
      static_cast<double>(head.triggered),
      static_cast<double>(head.proved),
      static_cast<double>(head.fell_back),
      static_cast<double>(head.gap),
      static_cast<double>(head.rows),
      static_cast<double>(head.survivors),
      static_cast<double>(head.id_before),
      static_cast<double>(head.projection_ns),
      static_cast<double>(head.prior_ns),
      static_cast<double>(head.selection_ns),
      static_cast<double>(head.verification_ns),
      static_cast<double>(head.bytes),
      static_cast<double>(stats.position),
      static_cast<double>(stats.mixer_active),
      static_cast<double>(stats.ffn_active),
      static_cast<double>(stats.mixer_total),
      static_cast<double>(stats.ffn_total),
      static_cast<double>(stats.bytes_touched),
      static_cast<double>(stats.kv_bytes_touched),
      static_cast<double>(stats.state_bytes),
      static_cast<double>(stats.cached_positions),
      static_cast<double>(stats.batch),
      static_cast<double>(taken.n_guessed),
      static_cast<double>(taken.n_right),
  };
  static_assert(std::size(columns) == kColumns);
  return std::copy(std::begin(columns), std::end(columns), row);
}

size_t GenerateJob::most_values(uint64_t max_tokens) {
  return static_cast<size_t>(std::min<uint64_t>(max_tokens, kMostWaiting)) * kColumns;
}

void GenerateJob::prepare(Napi::Env env) {
  hand_over(env);
  if (session_.rethrow()) failure_ = {};
}

}  // namespace spiked::addon
