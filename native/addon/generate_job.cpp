#include "generate_job.h"

#include <algorithm>
#include <limits>

namespace spiked::addon {
namespace {

/// Steps that the engine may be ahead of JavaScript: enough to work on while JavaScript does something long, few enough to throw away.
constexpr size_t kMostAhead = 256;
/// A step that comes sooner after the last call for JavaScript waits for the next one: waking a thread costs as much as a small model's step.
constexpr uint64_t kHoldNs = 1'000'000;

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
  spiked_session_get_stats(handle_, &taken.stats);
  const int32_t id = taken.step.id;
  ids_.assign(1, id);
  const bool stop = std::find(limits_.stop_ids.begin(), limits_.stop_ids.end(), id) != limits_.stop_ids.end();
  over_ = --limits_.max_tokens == 0 || stop || session_.pausing();
  over_ = push(taken) || over_;
}

bool GenerateJob::push(const Taken& taken) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(taken);
  const bool full = waiting_.size() >= kMostAhead;
  // The last steps come with the job itself.
  const uint64_t now_ns = taken.step.t_ns;
  if (!over_ && !full && now_ns - announced_ns_ >= kHoldNs) announce(now_ns);
  return full;
}

void GenerateJob::announce(uint64_t now_ns) {
  if (announced_) return;
  announced_ = true;
  announced_ns_ = now_ns;
  outbox_->announce(*this);
}

void GenerateJob::yield() {
  std::lock_guard lock(mutex_);
  if (!waiting_.empty()) announce(waiting_.back().step.t_ns);
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
  Napi::Array steps = Napi::Array::New(env, handed_.size());
  for (size_t i = 0; i < handed_.size(); ++i) {
    Napi::Object step = handed_[i].step.value(env, settings_);
    step["stats"] = stats_value(env, handed_[i].stats);
    steps[static_cast<uint32_t>(i)] = step;
  }
  session_.hand_over(env, steps);
}

void GenerateJob::prepare(Napi::Env env) {
  hand_over(env);
  if (session_.rethrow()) failure_ = {};
}

}  // namespace spiked::addon
