#ifndef SPIKED_ADDON_JOB_H
#define SPIKED_ADDON_JOB_H

#include <napi.h>

#include "failure.h"

namespace spiked::addon {

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
  /// JS thread, while run() may be under way: makes it end early if it can.
  virtual void cancel() {}
  /// Does nothing when the environment is ending and JavaScript can run no more.
  void settle(Napi::Env env);
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  /// JS thread, success or not: the object that was called is free again.
  virtual void release() {}
  virtual Napi::Value value(Napi::Env env) = 0;

  Failure failure_;

 private:
  Napi::Promise::Deferred deferred_;
};

}  // namespace spiked::addon

#endif
