#ifndef SPIKED_ADDON_SESSION_JOBS_H
#define SPIKED_ADDON_SESSION_JOBS_H

#include <cstdint>
#include <vector>

#include "buffer.h"
#include "codes.h"
#include "job.h"
#include "sampling.h"
#include "session.h"
#include "spikes.h"
#include "step.h"

namespace spiked::addon {

/// A call on one session: the session is referenced and busy until it settles.
class SessionJob : public Job {
 public:
  SessionJob(Napi::Env env, Session& session, std::vector<int32_t> ids)
      : Job(env), session_(session), handle_(session.handle()), ids_(std::move(ids)) {}
  void cancel() override { spiked_session_cancel(handle_); }

 protected:
  void release() override { session_.end_call(); }

  Session& session_;
  spiked_session* handle_;
  std::vector<int32_t> ids_;
};

/// What a forward records beside logits, and the decisions it is given.
struct TraceOptions {
  bool wanted = false, block_out = false, spikes = false, dense_inputs = false, codes = false,
       final_norm = false;
  GivenSpikes given;

  /// Reads `trace` and `given` of ForwardOptions, addon-types.ts.
  static TraceOptions read(ArgReader& args, const Napi::Object& options, const spiked_model_info& shape,
                           size_t n);
};

class ForwardJob : public SessionJob {
 public:
  ForwardJob(Napi::Env env, Session& session, std::vector<int32_t> ids, int32_t logits_mode,
             TraceOptions options);
  void run() override;

 protected:
  Napi::Value value(Napi::Env env) override;

 private:
  bool allocate();
  Napi::Value trace_value(Napi::Env env);

  int32_t logits_mode_;
  TraceOptions options_;
  spiked_model_info shape_;
  SpikeCounts counts_;
  spiked_trace trace_{};
  SpikeBuffers spikes_;
  CodeBuffers codes_;
  Buffer<float> logits_, block_out_, dense_inputs_, final_norm_;
  Buffer<int32_t> encoder_, mixer_, ffn_;
  uint64_t t_ns_ = 0;
};

class StepJob : public SessionJob {
 public:
  StepJob(Napi::Env env, Session& session, std::vector<int32_t> ids, StepSettings settings)
      : SessionJob(env, session, std::move(ids)), settings_(std::move(settings)) {}
  void run() override { failure_ = step_.take(handle_, ids_, settings_); }

 protected:
  Napi::Value value(Napi::Env env) override { return step_.value(env, settings_); }

 private:
  StepSettings settings_;
  Step step_;
};

/// What a head answers to hidden states of the caller's, one after the other.
class ChooseJob : public SessionJob {
 public:
  ChooseJob(Napi::Env env, Session& session, std::vector<float> hidden, Sampling sampling,
            const spiked_head& head)
      : SessionJob(env, session, {}),
        hidden_(std::move(hidden)),
        sampling_(std::move(sampling)),
        head_(head),
        embed_dim_(session.shape().embed_dim) {}
  void run() override;

 protected:
  Napi::Value value(Napi::Env env) override;

 private:
  std::vector<float> hidden_;
  Sampling sampling_;
  spiked_head head_;
  size_t embed_dim_;
  std::vector<spiked_head_step> steps_;
  std::vector<int32_t> chosen_;
};

class ScoreJob : public SessionJob {
 public:
  ScoreJob(Napi::Env env, Session& session, std::vector<int32_t> ids, bool with_masked_mass)
      : SessionJob(env, session, std::move(ids)), with_masked_mass_(with_masked_mass) {}
  /// One pass.
  void run() override;
  bool more() const override { return !failure_ && at_ < ids_.size(); }

 protected:
  Napi::Value value(Napi::Env env) override;

 private:
  bool with_masked_mass_;
  size_t at_ = 0;
  Buffer<double> logprobs_, masked_mass_;
};

class ForkJob : public SessionJob {
 public:
  ForkJob(Napi::Env env, Session& session, std::shared_ptr<EngineThread> thread)
      : SessionJob(env, session, {}), thread_(thread) {}
  void run() override;

 protected:
  Napi::Value value(Napi::Env env) override;

 private:
  // Weak: the thread destroys jobs and must not be the one that ends itself.
  std::weak_ptr<EngineThread> thread_;
  SessionHandle fork_;
};

}  // namespace spiked::addon

#endif
