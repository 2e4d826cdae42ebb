#include "session_jobs.h"

#include <time.h>

#include <limits>

namespace spiked::addon {
namespace {

const Failure kNoMemory{SPIKED_ERR_NO_MEMORY, "forward: expected memory for the results, found none"};

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

ForwardJob::ForwardJob(Napi::Env env, Session& session, std::vector<int32_t> ids, int32_t logits_mode,
                       bool with_trace, bool with_block_out)
    : SessionJob(env, session, std::move(ids)),
      logits_mode_(logits_mode),
      with_trace_(with_trace),
      with_block_out_(with_block_out),
      n_layers_(session.shape().n_layers),
      embed_dim_(session.shape().embed_dim),
      vocab_size_(session.shape().vocab_size) {}

void ForwardJob::run() {
  const size_t n = ids_.size();
  bool allocated = true;
  if (logits_mode_ == SPIKED_LOGITS_LAST) allocated = logits_.allocate(vocab_size_);
  if (logits_mode_ == SPIKED_LOGITS_ALL) allocated = logits_.allocate(n * vocab_size_);
  if (with_trace_) {
    allocated =
        allocated && encoder_.allocate(n) && mixer_.allocate(n_layers_ * n) && ffn_.allocate(n_layers_ * n);
    if (with_block_out_) allocated = allocated && block_out_.allocate(n_layers_ * n * embed_dim_);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    trace_ = {encoder_.data(), mixer_.data(), ffn_.data(), block_out_.data(),
              kInfinity,       kInfinity,     kInfinity};
  }
  if (!allocated) {
    failure_ = kNoMemory;
    return;
  }
  spiked_error error{};
  if (spiked_session_forward(handle_, ids_.data(), n, logits_mode_, logits_.data(),
                             with_trace_ ? &trace_ : nullptr, &error) != SPIKED_OK) {
    failure_ = failure_of(error);
  }
  t_ns_ = monotonic_ns();
}

Napi::Value ForwardJob::trace_value(Napi::Env env) {
  if (!with_trace_) return env.Null();
  const auto number = [env](float value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Object trace = Napi::Object::New(env);
  trace["activeEncoder"] = encoder_.take(env);
  trace["activeMixer"] = mixer_.take(env);
  trace["activeFfn"] = ffn_.take(env);
  trace["blockOut"] = block_out_.take(env);
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

void StepJob::run() {
  spiked_error error{};
  const spiked_sampling sampling = sampling_.c();
  if (spiked_session_forward(handle_, ids_.data(), ids_.size(), SPIKED_LOGITS_LAST, nullptr, nullptr,
                             &error) != SPIKED_OK ||
      spiked_session_sample(handle_, &sampling, &id_, &logprob_, &t_ns_, &error) != SPIKED_OK) {
    failure_ = failure_of(error);
  }
}

Napi::Value StepJob::value(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  out["id"] = Napi::Number::New(env, id_);
  out["logprob"] = Napi::Number::New(env, static_cast<double>(logprob_));
  out["tNs"] = Napi::BigInt::New(env, t_ns_);
  return out;
}

void ScoreJob::run() {
  if (!logprobs_.allocate(ids_.size()) || (with_masked_mass_ && !masked_mass_.allocate(ids_.size()))) {
    failure_ = kNoMemory;
    return;
  }
  spiked_error error{};
  if (spiked_session_score(handle_, ids_.data(), ids_.size(), logprobs_.data(), masked_mass_.data(),
                           &error) != SPIKED_OK) {
    failure_ = failure_of(error);
  }
}

Napi::Value ScoreJob::value(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  out["logprobs"] = logprobs_.take(env);
  out["maskedMass"] = masked_mass_.take(env);
  return out;
}

}  // namespace spiked::addon
