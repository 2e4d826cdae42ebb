#include "job.h"

namespace spiked::addon {

bool can_run_javascript(Napi::Env env) {
  napi_value undefined = nullptr, result = nullptr;
  return napi_get_undefined(env, &undefined) == napi_ok &&
         napi_coerce_to_bool(env, undefined, &result) == napi_ok;
}

void Job::settle(Napi::Env env) {
  Napi::HandleScope scope(env);
  if (!can_run_javascript(env)) return;
  prepare(env);
  const bool thrown = env.IsExceptionPending();
  Napi::Value result = failure_ || thrown ? env.Undefined() : value(env);
  release();
  if (env.IsExceptionPending()) {
    deferred_.Reject(env.GetAndClearPendingException().Value());
  } else if (failure_) {
    deferred_.Reject(make_error(env, failure_).Value());
  } else {
    deferred_.Resolve(result);
  }
}

}  // namespace spiked::addon
