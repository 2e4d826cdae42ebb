#ifndef SPIKED_ADDON_SESSION_H
#define SPIKED_ADDON_SESSION_H

#include <napi.h>

#include <atomic>
#include <memory>

#include "engine_thread.h"
#include "failure.h"
#include "handles.h"

namespace spiked::addon {

/// NativeSession of native/host/addon-types.ts.
class Session : public Napi::ObjectWrap<Session> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Value create(Napi::Env env, SessionHandle handle, const spiked_model_info& shape,
                            std::shared_ptr<EngineThread> thread);

  explicit Session(const Napi::CallbackInfo& info);
  ~Session() override;

  spiked_session* handle() const { return handle_.get(); }
  const spiked_model_info& shape() const { return shape_; }
  void begin_call();
  void end_call();
  /// Engine thread: pause() was called since the last generate() began.
  bool pausing() const { return pause_.load(std::memory_order_relaxed); }
  /// The memory through which the generate under way hands over its steps; null when it has not so many values.
  double* rows(size_t n_values);
  /// Gives onSteps n rows, unless the session was closed meanwhile. What it throws cancels the session.
  void hand_over(Napi::Env env, size_t n);
  /// Throws what onSteps threw; false when it did not.
  bool rethrow();

 private:
  Napi::Value forward(const Napi::CallbackInfo& info);
  Napi::Value step(const Napi::CallbackInfo& info);
  Napi::Value generate(const Napi::CallbackInfo& info);
  Napi::Value pause(const Napi::CallbackInfo& info);
  Napi::Value reference(const Napi::CallbackInfo& info);
  Napi::Value choose(const Napi::CallbackInfo& info);
  Napi::Value score(const Napi::CallbackInfo& info);
  Napi::Value fork(const Napi::CallbackInfo& info);
  Napi::Value seed(const Napi::CallbackInfo& info);
  Napi::Value reset(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  // session_reads.cpp
  Napi::Value probabilities(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  Napi::Value profile(const Napi::CallbackInfo& info);
  Napi::Value profile_ns(const Napi::CallbackInfo& info);
  Napi::Value membrane(const Napi::CallbackInfo& info);
  Napi::Value decay_state(const Napi::CallbackInfo& info);
  Napi::Value kv_positions(const Napi::CallbackInfo& info);

  /// Why a call cannot begin now: closed, or another call is under way.
  Failure not_ready(const char* method) const;
  Napi::Value post(Napi::Env env, std::unique_ptr<Job> job);

  void free(Napi::Env env);

  struct Parts {
    SessionHandle handle;
    spiked_model_info shape;
    std::shared_ptr<EngineThread> thread;
  };

  std::shared_ptr<EngineThread> thread_;
  SessionHandle handle_;
  spiked_model_info shape_{};
  /// Told to V8, which would otherwise see no reason to collect a session that nobody closed.
  int64_t state_bytes_ = 0;
  Napi::FunctionReference on_steps_;
  Napi::ObjectReference rows_;
  Napi::Error thrown_;
  std::atomic<bool> pause_{false};
  bool busy_ = false;
  bool closed_ = false;
};

}  // namespace spiked::addon

#endif
