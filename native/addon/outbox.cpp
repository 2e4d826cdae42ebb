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
  if (function_.NonBlockingCall(&job->end_) == napi_ok) job.release();
}

void Outbox::announce(Job& job) { function_.NonBlockingCall(&job.progress_); }

void Outbox::receive(Napi::Env env, Napi::Function, Outbox* outbox, Job::Letter* letter) {
  const bool ending = static_cast<napi_env>(env) == nullptr;  // the environment
  if (!letter->over) {
    if (!ending) letter->job->progress(env);
    return;
  }
  std::unique_ptr<Job> owned(letter->job);
  if (ending) return;
  if (--outbox->n_expected_ == 0) outbox->function_.Unref(env);
  owned->settle(env);
}

}  // namespace spiked::addon
