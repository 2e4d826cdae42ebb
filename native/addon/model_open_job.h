#ifndef SPIKED_ADDON_MODEL_OPEN_JOB_H
#define SPIKED_ADDON_MODEL_OPEN_JOB_H

#include <memory>
#include <string>

#include "engine.h"
#include "handles.h"
#include "job.h"

namespace spiked::addon {

class ModelOpenJob : public Job {
 public:
  ModelOpenJob(Napi::Env env, Engine& engine, std::shared_ptr<EngineThread> thread, std::string path)
      : Job(env), engine_(engine), handle_(engine.handle()), thread_(thread), path_(std::move(path)) {}
  void run() override;

 protected:
  void release() override { engine_.end_call(); }
  Napi::Value value(Napi::Env env) override;

 private:
  Engine& engine_;
  spiked_engine* handle_;
  // Weak: the thread destroys jobs and must not be the one that ends itself.
  std::weak_ptr<EngineThread> thread_;
  std::string path_;
  ModelHandle model_;
};

}  // namespace spiked::addon

#endif
