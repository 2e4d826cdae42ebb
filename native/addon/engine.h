#ifndef SPIKED_ADDON_ENGINE_H
#define SPIKED_ADDON_ENGINE_H

#include <napi.h>

#include <memory>

#include "engine_thread.h"
#include "handles.h"

namespace spiked::addon {

/// NativeEngine of native/host/addon-types.ts.
class Engine : public Napi::ObjectWrap<Engine> {
 public:
  static Napi::Function define(Napi::Env env);
  /// openEngine(options)
  static Napi::Value open(const Napi::CallbackInfo& info);

  explicit Engine(const Napi::CallbackInfo& info);

  spiked_engine* handle() const { return handle_.get(); }
  void begin_call();
  void end_call();

 private:
  Napi::Value isa(const Napi::CallbackInfo& info);
  Napi::Value threads(const Napi::CallbackInfo& info);
  Napi::Value cpus(const Napi::CallbackInfo& info);
  Napi::Value loading(const Napi::CallbackInfo& info);
  Napi::Value activations(const Napi::CallbackInfo& info);
  Napi::Value progress(const Napi::CallbackInfo& info);
  Napi::Value open_model(const Napi::CallbackInfo& info);
  Napi::Value memory(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  struct Parts {
    EngineHandle handle;
    std::shared_ptr<EngineThread> thread;
    const char* loading;
  };

  // The thread is declared first: it outlives the handle.
  std::shared_ptr<EngineThread> thread_;
  EngineHandle handle_;
  std::string isa_, activations_, cpus_, loading_;
  uint32_t n_threads_ = 0;
  size_t n_calls_ = 0;
  bool closed_ = false;
};

}  // namespace spiked::addon

#endif
