#include "job.h"

namespace spiked::addon {
namespace {

// A terminated worker still empties its event loop once before the cleanup hooks run; every call into JavaScript fails then, and
// a failure that cannot be thrown would end the process.
bool can_run_javascript(napi_env env) {
  napi_value undefined = nullptr, result = nullptr;
  return napi_get_undefined(env, &undefined) == napi_ok &&
         napi_coerce_to_bool(env, undefined, &result) == napi_ok;
}

}  // namespace

void Job::settle(Napi::Env env) {
  Napi::HandleScope scope(env);
  if (!can_run_javascript(env)) return;
  Napi::Value result = failure_ ? env.Undefined() : value(env);
  release();
  if (failure_) {
    deferred_.Reject(make_error(env, failure_).Value());
  } else if (env.IsExceptionPending()) {
    deferred_.Reject(env.GetAndClearPendingException().Value());
  } else {
    deferred_.Resolve(result);
  }
}

}  // namespace spiked::addon
