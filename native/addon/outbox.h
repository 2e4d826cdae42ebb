#ifndef SPIKED_ADDON_OUTBOX_H
#define SPIKED_ADDON_OUTBOX_H

#include <napi.h>

#include <cstddef>
#include <memory>

#include "job.h"

namespace spiked::addon {

/// Carries finished jobs from engine threads to the JS thread of one environment, and keeps the process alive
/// while any is under way.
///
/// The thread-safe function is never released by us: Node ends it with the environment, after our cleanup
/// hook has joined every thread that could call it (releasing it during a worker's exit aborts some Node
/// versions, nodejs/node#65100).
class Outbox {
 public:
  explicit Outbox(Napi::Env env);

  /// JS thread: a job was made that will be delivered.
  void expect(Napi::Env env);
  /// JS thread: jobs made and not settled yet.
  size_t expected() const { return n_expected_; }
  /// Any thread.
  void deliver(std::unique_ptr<Job> job);
  /// The thread that runs the job, before it is delivered: has its progress() called.
  void announce(Job& job);

 private:
  static void receive(Napi::Env env, Napi::Function, Outbox* outbox, Job::Letter* letter);
  using Function = Napi::TypedThreadSafeFunction<Outbox, Job::Letter, &Outbox::receive>;

  Function function_;
  size_t n_expected_ = 0;
};

}  // namespace spiked::addon

#endif
