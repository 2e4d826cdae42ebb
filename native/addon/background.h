#ifndef SPIKED_ADDON_BACKGROUND_H
#define SPIKED_ADDON_BACKGROUND_H

#include <napi.h>

#include <memory>

#include "job.h"

namespace spiked::addon {

/// Runs a job that needs no engine on Node's own pool; Node waits for it before an environment ends.
class Background : public Napi::AsyncWorker {
 public:
  static Napi::Value start(Napi::Env env, std::unique_ptr<Job> job) {
    Napi::Promise promise = job->promise();
    (new Background(env, std::move(job)))->Queue();  // deletes itself when done
    return promise;
  }

 protected:
  void Execute() override { job_->run(); }
  void OnOK() override { job_->settle(Env()); }

 private:
  Background(Napi::Env env, std::unique_ptr<Job> job) : Napi::AsyncWorker(env), job_(std::move(job)) {}

  std::unique_ptr<Job> job_;
};

}  // namespace spiked::addon

#endif
