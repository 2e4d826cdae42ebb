#ifndef SPIKED_ADDON_ENGINE_THREAD_H
#define SPIKED_ADDON_ENGINE_THREAD_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "job.h"
#include "outbox.h"

namespace spiked::addon {

/// The one thread from which an engine computes: runs jobs in the order they came; those that have more to do take turns, and jobs of
/// one group run as one. Shared by the engine's object, its models and sessions; it ends with the last of them. Everything but the loop
/// belongs to the JS thread.
class EngineThread {
 public:
  /// Null when the system gives no thread. `begin` runs on it, and has ended when this returns.
  static std::shared_ptr<EngineThread> start(std::shared_ptr<Outbox> outbox,
                                             const std::function<void()>& begin);
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  Napi::Value post(Napi::Env env, std::unique_ptr<Job> job);
  /// Cancels the running job, drops the waiting ones and joins. The environment is ending: nothing is settled
  /// any more.
  void stop();

 private:
  explicit EngineThread(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  using Turn = std::vector<std::unique_ptr<Job>>;
  void loop();
  /// The first job of the queue, with the others of its group.
  Turn take_turn();

  std::shared_ptr<Outbox> outbox_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Job>> queue_;
  Turn running_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace spiked::addon

#endif
