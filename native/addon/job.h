#ifndef SPIKED_ADDON_JOB_H
#define SPIKED_ADDON_JOB_H

#include <napi.h>

#include <memory>
#include <span>

#include "failure.h"

namespace spiked::addon {

/// Whether calls into JavaScript can succeed. JS thread. A terminated worker still empties its event loop once before the cleanup hooks
/// run; every call fails then, and a failure that cannot be thrown would end the process.
bool can_run_javascript(Napi::Env env);

/// One asynchronous call: made on the JS thread, run elsewhere, settled on the JS thread again.
/// When its environment ends first, it is destroyed without being settled.
class Job {
 public:
  explicit Job(Napi::Env env) : deferred_(Napi::Promise::Deferred::New(env)) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Off the JS thread: touches nothing of Node.
  virtual void run() = 0;
  /// Off the JS thread: equal for jobs that run as one, null for one that runs alone.
  virtual const void* group() const { return nullptr; }
  /// Instead of run(): this job and others of its group.
  virtual void run_together(std::span<const std::unique_ptr<Job>>) {}
  /// Off the JS thread, after run(): true when an engine's thread is to run it again, after the jobs that wait.
  virtual bool more() const { return false; }
  /// Off the JS thread, when others run before it does again.
  virtual void yield() {}
  /// JS thread, while run() may be under way: what Outbox::announce asked for.
  virtual void progress(Napi::Env) {}
  /// JS thread, while run() may be under way: makes it end early if it can.
  virtual void cancel() {}
  /// Does nothing when the environment is ending and JavaScript can run no more.
  void settle(Napi::Env env);
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  /// JS thread, success or not, before anything else; an exception that it leaves is what the call rejects with.
  virtual void prepare(Napi::Env) {}
  /// JS thread, success or not: the object that was called is free again.
  virtual void release() {}
  virtual Napi::Value value(Napi::Env env) = 0;

  Failure failure_;

 private:
  friend class Outbox;
  /// What the outbox sends: the job comes to the JS thread for good, or only has something to hand over.
  struct Letter {
    Job* job;
    bool over;
  };

  Letter progress_{this, false}, end_{this, true};
  Napi::Promise::Deferred deferred_;
};

}  // namespace spiked::addon

#endif
