#include "model.h"

#include "env_state.h"
#include "head.h"
#include "model_info.h"
#include "session.h"

namespace spiked::addon {

Napi::Function Model::define(Napi::Env env) {
  return DefineClass(env, "Model",
                     {
                         InstanceMethod<&Model::check_head>("checkHead"),
                         InstanceMethod<&Model::check_file>("checkFile"),
                         InstanceMethod<&Model::open_session>("openSession"),
                         InstanceMethod<&Model::mapped>("mapped"),
                         InstanceMethod<&Model::prefix_cache_bytes>("prefixCacheBytes"),
                         InstanceMethod<&Model::close>("close"),
                     });
}

Napi::Value Model::create(Napi::Env env, ModelHandle handle, std::shared_ptr<EngineThread> thread) {
  spiked_model_info info{};
  spiked_model_get_info(handle.get(), &info);
  Parts parts{std::move(handle), std::move(thread)};
  EnvState& state = EnvState::of(env);
  state.parts = &parts;
  Napi::Object object = state.model_class.New({});
  state.parts = nullptr;
  if (env.IsExceptionPending()) return {};
  object.DefineProperty(Napi::PropertyDescriptor::Value("info", model_info(env, info), napi_enumerable));
  return object;
}

Model::Model(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Model>(info) {
  auto* parts = static_cast<Parts*>(EnvState::of(info.Env()).parts);
  if (parts == nullptr) {
    raise(info.Env(), invalid("Model: expected to be made by openModel, found a constructor call"));
    return;
  }
  handle_ = std::move(parts->handle);
  thread_ = std::move(parts->thread);
}

Napi::Value Model::check_head(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!handle_)
    return raise(env, {SPIKED_ERR_SESSION_CLOSED, "model: expected an open one, found it closed"});
  ArgReader args(env);
  const spiked_head head = read_head(args, info[0]);
  if (args.failed()) return raise(env, args.failure());
  spiked_error error{};
  if (spiked_model_check_head(handle_.get(), &head, &error) != SPIKED_OK)
    return raise(env, failure_of(error));
  return env.Undefined();
}

Napi::Value Model::check_file(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!handle_)
    return raise(env, {SPIKED_ERR_SESSION_CLOSED, "model: expected an open one, found it closed"});
  spiked_error error{};
  if (spiked_model_check_file(handle_.get(), &error) != SPIKED_OK) return raise(env, failure_of(error));
  return env.Undefined();
}

Napi::Value Model::mapped(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  uint64_t resident_bytes = 0, locked_bytes = 0;
  if (handle_) spiked_model_get_mapped(handle_.get(), &resident_bytes, &locked_bytes);
  Napi::Object out = Napi::Object::New(env);
  out["residentBytes"] = Napi::Number::New(env, static_cast<double>(resident_bytes));
  out["lockedBytes"] = Napi::Number::New(env, static_cast<double>(locked_bytes));
  return out;
}

Napi::Value Model::prefix_cache_bytes(const Napi::CallbackInfo& info) {
  const uint64_t n = handle_ ? spiked_model_prefix_cache_bytes(handle_.get()) : 0;
  return Napi::Number::New(info.Env(), static_cast<double>(n));
}

Napi::Value Model::open_session(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!handle_)
    return raise(env, {SPIKED_ERR_SESSION_CLOSED, "model: expected an open one, found it closed"});
  spiked_session* session = nullptr;
  spiked_error error{};
  if (spiked_session_open(handle_.get(), &session, &error) != SPIKED_OK) return raise(env, failure_of(error));
  spiked_model_info shape{};
  spiked_model_get_info(handle_.get(), &shape);
  return Session::create(env, SessionHandle(session), shape, thread_);
}

Napi::Value Model::close(const Napi::CallbackInfo& info) {
  handle_.reset();
  return info.Env().Undefined();
}

}  // namespace spiked::addon
