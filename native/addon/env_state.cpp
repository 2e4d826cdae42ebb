#include "env_state.h"

#include <algorithm>

namespace spiked::addon {

void EnvState::install(Napi::Env env) {
  auto* state = new EnvState;
  env.SetInstanceData(state);
  state->outbox = std::make_shared<Outbox>(env);
  // Hooks run last-in first-out: ours, added after the thread-safe function's, joins the threads while it
  // still works.
  env.AddCleanupHook(&EnvState::stop_threads, state);
}

std::shared_ptr<EngineThread> EnvState::start_thread(const std::function<void()>& begin) {
  std::erase_if(threads_, [](const auto& thread) { return thread.expired(); });
  std::shared_ptr<EngineThread> thread = EngineThread::start(outbox, begin);
  if (thread) threads_.push_back(thread);
  return thread;
}

void EnvState::stop_threads(EnvState* state) {
  for (const auto& weak : state->threads_) {
    if (std::shared_ptr<EngineThread> thread = weak.lock()) thread->stop();
  }
}

}  // namespace spiked::addon
