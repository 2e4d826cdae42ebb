#include "session_jobs.h"

#include <time.h>

#include <limits>

#include "head.h"
#include "model_info.h"

namespace spiked::addon {
namespace {

const Failure kNoMemory{SPIKED_ERR_NO_MEMORY, "forward: expected memory for the results, found none"};

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

TraceOptions TraceOptions::read(ArgReader& args, const Napi::Object& options, const spiked_model_info& shape,
                                size_t n) {
  TraceOptions out;
  const Napi::Value trace = args.property(options, "trace", "options.trace");
  out.given = GivenSpikes::read(args, args.property(options, "given", "options.given"), "options.given",
                                SpikeCounts(shape, n));
  if (args.failed() || trace.IsUndefined()) return out;
  out.wanted = true;
  const Napi::Object wanted = args.object(trace, "options.trace");
  const auto asked = [&](const char* key, bool required) {
    const std::string name = std::string("options.trace.") + key;
    const Napi::Value value = args.property(wanted, key, name);
    return !args.failed() && (required || !value.IsUndefined()) && args.boolean(value, name);
  };
  out.block_out = asked("blockOut", true);
  out.spikes = asked("spikes", false);
  out.dense_inputs = asked("denseInputs", false);
  out.codes = asked("codes", false);
  out.final_norm = asked("finalNorm", false);
  return out;
}

ForwardJob::ForwardJob(Napi::Env env, Session& session, std::vector<int32_t> ids, int32_t logits_mode,
                       TraceOptions options)
    : SessionJob(env, session, std::move(ids)),
      logits_mode_(logits_mode),
      options_(std::move(options)),
      shape_(session.shape()),
      counts_(shape_, ids_.size()) {}

bool ForwardJob::allocate() {
  const size_t n = ids_.size();
  if (logits_mode_ == SPIKED_LOGITS_LAST && !logits_.allocate(shape_.vocab_size)) return false;
  if (logits_mode_ == SPIKED_LOGITS_ALL && !logits_.allocate(n * shape_.vocab_size)) return false;
  if (!options_.wanted) return true;
  const size_t counted = is_ternary(shape_) ? 0 : n;
  const size_t layers = shape_.n_layers * counted;
  if (!encoder_.allocate(counted) || !mixer_.allocate(layers) || !ffn_.allocate(layers)) return false;
  if (options_.block_out && !block_out_.allocate(counts_.block)) return false;
  if (options_.spikes && !spikes_.allocate(counts_)) return false;
  if (options_.dense_inputs && !dense_inputs_.allocate(3 * counts_.block)) return false;
  if (options_.codes && !codes_.allocate(shape_, n)) return false;
  return !options_.final_norm || final_norm_.allocate(n * shape_.embed_dim);
}

void ForwardJob::run() {
  if (!allocate()) {
    failure_ = kNoMemory;
    return;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  trace_.block_out = block_out_.data();
  trace_.margin_encoder = trace_.margin_mixer = trace_.margin_ffn = kInfinity;
  trace_.spikes = spikes_.c();
  trace_.dense_inputs = dense_inputs_.data();
  trace_.given = options_.given.c();
  trace_.codes = codes_.c();
  trace_.final_norm = final_norm_.data();
  if (!is_ternary(shape_)) {  // without spikes there is nothing to count
    trace_.active_encoder = encoder_.data();
    trace_.active_mixer = mixer_.data();
    trace_.active_ffn = ffn_.data();
  }
  const bool traced = options_.wanted || !options_.given.encoder.empty();
  spiked_error error{};
  if (spiked_session_forward(handle_, ids_.data(), ids_.size(), logits_mode_, logits_.data(),
                             traced ? &trace_ : nullptr, &error) != SPIKED_OK) {
    failure_ = failure_of(error);
  }
  t_ns_ = monotonic_ns();
}

Napi::Value ForwardJob::trace_value(Napi::Env env) {
  if (!options_.wanted) return env.Null();
  const auto number = [env](float value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Object trace = Napi::Object::New(env);
  trace["activeEncoder"] = encoder_.take(env);
  trace["activeMixer"] = mixer_.take(env);
  trace["activeFfn"] = ffn_.take(env);
  trace["blockOut"] = block_out_.take(env);
  trace["spikes"] = spikes_.take(env);
  trace["denseInputs"] = dense_inputs_.take(env);
  trace["codes"] = codes_.take(env);
  trace["finalNorm"] = final_norm_.take(env);
  trace["marginEncoder"] = number(trace_.margin_encoder);
  trace["marginMixer"] = number(trace_.margin_mixer);
  trace["marginFfn"] = number(trace_.margin_ffn);
  return trace;
}

Napi::Value ForwardJob::value(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  out["logits"] = logits_.take(env);
  out["trace"] = trace_value(env);
  out["tNs"] = Napi::BigInt::New(env, t_ns_);
  return out;
}

void ChooseJob::run() {
  const size_t n = hidden_.size() / embed_dim_;
  const spiked_sampling sampling = sampling_.c();
  chosen_.resize(n);
  steps_.resize(n);
  spiked_error error{};
  for (size_t i = 0; i < n && !failure_; ++i) {
    if (spiked_session_choose(handle_, hidden_.data() + i * embed_dim_, &sampling, &head_, &chosen_[i],
                              &steps_[i], &error) != SPIKED_OK)
      failure_ = failure_of(error);
  }
}

Napi::Value ChooseJob::value(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  Napi::Int32Array ids = Napi::Int32Array::New(env, chosen_.size());
  Napi::Array steps = Napi::Array::New(env, steps_.size());
  for (size_t i = 0; i < chosen_.size(); ++i) {
    Napi::HandleScope scope(env);
    ids[i] = chosen_[i];
    steps[static_cast<uint32_t>(i)] = head_step_value(env, steps_[i]);
  }
  out["ids"] = ids;
  out["steps"] = steps;
  return out;
}

void ScoreJob::run() {
  if (at_ == 0 &&
      (!logprobs_.allocate(ids_.size()) || (with_masked_mass_ && !masked_mass_.allocate(ids_.size())))) {
    failure_ = kNoMemory;
    return;
  }
  spiked_error error{};
  if (spiked_session_score_pass(handle_, ids_.data(), ids_.size(), &at_, logprobs_.data(),
                                masked_mass_.data(), &error) != SPIKED_OK) {
    failure_ = failure_of(error);
  }
}

Napi::Value ScoreJob::value(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  out["logprobs"] = logprobs_.take(env);
  out["maskedMass"] = masked_mass_.take(env);
  return out;
}

void ForkJob::run() {
  spiked_session* fork = nullptr;
  spiked_error error{};
  if (spiked_session_fork(handle_, &fork, &error) != SPIKED_OK) failure_ = failure_of(error);
  fork_.reset(fork);
}

Napi::Value ForkJob::value(Napi::Env env) {
  // The session's object is referenced until release() and holds the thread.
  return Session::create(env, std::move(fork_), session_.shape(), thread_.lock());
}

}  // namespace spiked::addon
