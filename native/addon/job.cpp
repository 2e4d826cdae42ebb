#include "job.h"

namespace spiked::addon {

void Job::settle(Napi::Env env) {
  Napi::HandleScope scope(env);
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
