#ifndef SPIKED_ADDON_MODEL_H
#define SPIKED_ADDON_MODEL_H

#include <napi.h>

#include <memory>

#include "engine_thread.h"
#include "handles.h"

namespace spiked::addon {

/// NativeModel of native/host/addon-types.ts.
class Model : public Napi::ObjectWrap<Model> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Value create(Napi::Env env, ModelHandle handle, std::shared_ptr<EngineThread> thread);

  explicit Model(const Napi::CallbackInfo& info);

 private:
  Napi::Value check_head(const Napi::CallbackInfo& info);
  Napi::Value check_file(const Napi::CallbackInfo& info);
  Napi::Value open_session(const Napi::CallbackInfo& info);
  Napi::Value mapped(const Napi::CallbackInfo& info);
  Napi::Value prefix_cache_bytes(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  struct Parts {
    ModelHandle handle;
    std::shared_ptr<EngineThread> thread;
  };

  std::shared_ptr<EngineThread> thread_;
  ModelHandle handle_;
};

}  // namespace spiked::addon

#endif
