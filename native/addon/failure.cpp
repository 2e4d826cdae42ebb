#include "failure.h"

#include "env_state.h"

namespace spiked::addon {

Napi::Error make_error(Napi::Env env, const Failure& failure) {
  EnvState& state = EnvState::of(env);
  if (!state.make_error.IsEmpty()) {
    Napi::Value made = state.make_error.Value().Call(
        {Napi::Number::New(env, failure.code), Napi::String::New(env, failure.message)});
    if (env.IsExceptionPending()) return env.GetAndClearPendingException();
    if (made.IsObject()) return Napi::Error(env, made);
  }
  // Before setErrorFactory, or with a factory that returns no object.
  return Napi::Error::New(env, std::to_string(failure.code) + ": " + failure.message);
}

Napi::Value raise(Napi::Env env, const Failure& failure) {
  make_error(env, failure).ThrowAsJavaScriptException();
  return {};
}

Napi::Value rejection(Napi::Env env, const Failure& failure) {
  auto deferred = Napi::Promise::Deferred::New(env);
  deferred.Reject(make_error(env, failure).Value());
  return deferred.Promise();
}

}  // namespace spiked::addon
