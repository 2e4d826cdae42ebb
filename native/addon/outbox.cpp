#include "outbox.h"

namespace spiked::addon {

Outbox::Outbox(Napi::Env env) {
  constexpr size_t kUnlimitedQueue = 0;
  function_ = Function::New(env, "spiked", kUnlimitedQueue, 1, this);
  function_.Unref(env);
}

void Outbox::expect(Napi::Env env) {
  if (n_expected_++ == 0) function_.Ref(env);
}

void Outbox::deliver(std::unique_ptr<Job> job) {
  // Fails only while the environment ends; then nobody waits for the job.
  if (function_.NonBlockingCall(job.get()) == napi_ok) job.release();
}

void Outbox::receive(Napi::Env env, Napi::Function, Outbox* outbox, Job* job) {
  std::unique_ptr<Job> owned(job);
  if (static_cast<napi_env>(env) == nullptr) return;  // the environment ends
  if (--outbox->n_expected_ == 0) outbox->function_.Unref(env);
  owned->settle(env);
}

}  // namespace spiked::addon
