#ifndef SPIKED_ADDON_ENV_STATE_H
#define SPIKED_ADDON_ENV_STATE_H

#include <napi.h>

#include <functional>
#include <memory>
#include <vector>

#include "engine_thread.h"
#include "outbox.h"

namespace spiked::addon {

/// What the addon keeps for one Node environment (the main thread or a worker): no state is shared between
/// environments.
struct EnvState {
  Napi::FunctionReference make_error;
  Napi::FunctionReference engine_class, model_class, session_class;
  /// Set only while an object is being made from C++: how its constructor gets its parts, and refuses to be
  /// called from JS.
  void* parts = nullptr;
  std::shared_ptr<Outbox> outbox;

  static void install(Napi::Env env);
  static EnvState& of(Napi::Env env) { return *env.GetInstanceData<EnvState>(); }

  /// Null when the system gives no thread. The thread runs `begin` first, and is joined before the environment ends.
  std::shared_ptr<EngineThread> start_thread(const std::function<void()>& begin);

 private:
  static void stop_threads(EnvState* state);

  std::vector<std::weak_ptr<EngineThread>> threads_;
};

}  // namespace spiked::addon

#endif
