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
/// A step that comes sooner after the last call for JavaScript waits for the next one: waking a thread costs as much as a small model's step.
constexpr uint64_t kHoldNs = 1'000'000;
/// Numbers of a row.
constexpr size_t kColumns = 27;
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
  return out;
}

GenerateJob::GenerateJob(Napi::Env env, Session& session, std::vector<int32_t> ids, StepSettings settings,
                         GenerateLimits limits, std::shared_ptr<Outbox> outbox)
    : SessionJob(env, session, std::move(ids)),
      settings_(std::move(settings)),
      limits_(std::move(limits)),
      outbox_(std::move(outbox)) {
  waiting_.reserve(kMostAhead);
  handed_.reserve(kMostAhead);
}

void GenerateJob::run() {
  Taken taken{};
  failure_ = taken.step.take(handle_, ids_, settings_);
  if (failure_) {
    over_ = true;
    return;
  }
  accept(taken);
}

void GenerateJob::run_together(std::span<const std::unique_ptr<Job>> jobs) {
  std::array<spiked_joint_step, SPIKED_MAX_JOINT> steps{};
  std::array<spiked_sampling, SPIKED_MAX_JOINT> samplings{};
  const auto at = [&](size_t i) { return static_cast<GenerateJob*>(jobs[i].get()); };
  for (size_t i = 0; i < jobs.size(); ++i) {
    const StepSettings& settings = at(i)->settings_;
    samplings[i] = settings.sampling.c();
    steps[i].session = at(i)->handle_;
    steps[i].fed = at(i)->ids_[0];
    steps[i].sampling = &samplings[i];
    steps[i].head = &settings.head;
    steps[i].want_logprob = settings.want_logprob ? 1 : 0;
  }
  spiked_error error{};
  const bool stepped = spiked_sessions_step(steps.data(), jobs.size(), &error) == SPIKED_OK;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const spiked_joint_step& step = steps[i];
    GenerateJob& job = *at(i);
    if (!stepped || step.error.code != SPIKED_OK) {
      job.failure_ = failure_of(stepped ? step.error : error);
      job.over_ = true;
      continue;
    }
    Taken taken{{step.id, step.logprob, step.t_ns, step.head_step}, {}};
    job.accept(taken);
  }
}

void GenerateJob::accept(Taken& taken) {
  spiked_session_get_stats(handle_, &taken.stats);
  const int32_t id = taken.step.id;
  ids_.assign(1, id);
  const bool stop = std::find(limits_.stop_ids.begin(), limits_.stop_ids.end(), id) != limits_.stop_ids.end();
  over_ = --limits_.max_tokens == 0 || stop || session_.pausing();
  over_ = push(taken) || over_;
}

bool GenerateJob::push(const Taken& taken) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(taken);
  const bool full = waiting_.size() >= kMostAhead;
  // The last steps come with the job itself.
  if (!over_ && !full && taken.step.t_ns - announced_ns_ >= kHoldNs) announce(lock);
  return full;
}

void GenerateJob::yield() {
  std::unique_lock lock(mutex_);
  if (!waiting_.empty()) announce(lock);
}

void GenerateJob::announce(std::unique_lock<std::mutex>& lock) {
  if (announced_) return;
  announced_ = true;
  announced_ns_ = waiting_.back().step.t_ns;
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
  const auto& [step, stats] = taken;
  const double columns[] = {
      static_cast<double>(step.id),
      settings_.want_logprob ? static_cast<double>(step.logprob) : std::nan(""),
      static_cast<double>(step.t_ns / kNsPerS),  // whole nanoseconds would not fit after 104 days
      static_cast<double>(step.t_ns % kNsPerS),
      static_cast<double>(step.head.mode),
      static_cast<double>(step.head.triggered),
      static_cast<double>(step.head.proved),
      static_cast<double>(step.head.fell_back),
      static_cast<double>(step.head.gap),
      static_cast<double>(step.head.rows),
      static_cast<double>(step.head.survivors),
      static_cast<double>(step.head.id_before),
      static_cast<double>(step.head.projection_ns),
      static_cast<double>(step.head.prior_ns),
      static_cast<double>(step.head.selection_ns),
      static_cast<double>(step.head.verification_ns),
      static_cast<double>(step.head.bytes),
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
  };
  static_assert(std::size(columns) == kColumns);
  return std::copy(std::begin(columns), std::end(columns), row);
}

size_t GenerateJob::most_values(uint64_t max_tokens) {
  return static_cast<size_t>(std::min<uint64_t>(max_tokens, kMostAhead)) * kColumns;
}

void GenerateJob::prepare(Napi::Env env) {
  hand_over(env);
  if (session_.rethrow()) failure_ = {};
}

}  // namespace spiked::addon
