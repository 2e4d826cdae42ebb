#include "session.h"

#include "arg_reader.h"
#include "env_state.h"
#include "generate_job.h"
#include "head.h"
#include "reference_job.h"
#include "sampling.h"
#include "session_jobs.h"

namespace spiked::addon {

Napi::Function Session::define(Napi::Env env) {
  return DefineClass(env, "Session",
                     {
                         InstanceMethod<&Session::forward>("forward"),
                         InstanceMethod<&Session::step>("step"),
                         InstanceMethod<&Session::generate>("generate"),
                         InstanceMethod<&Session::pause>("pause"),
                         InstanceMethod<&Session::choose>("choose"),
                         InstanceMethod<&Session::probabilities>("probabilities"),
                         InstanceMethod<&Session::reference>("reference"),
                         InstanceMethod<&Session::score>("score"),
                         InstanceMethod<&Session::fork>("fork"),
                         InstanceMethod<&Session::seed>("seed"),
                         InstanceMethod<&Session::reset>("reset"),
                         InstanceMethod<&Session::cancel>("cancel"),
                         InstanceMethod<&Session::stats>("stats"),
                         InstanceMethod<&Session::profile>("profile"),
                         InstanceMethod<&Session::profile_ns>("profileNs"),
                         InstanceMethod<&Session::membrane>("membrane"),
                         InstanceMethod<&Session::decay_state>("decayState"),
                         InstanceMethod<&Session::kv_positions>("kvPositions"),
                         InstanceMethod<&Session::close>("close"),
                     });
}

Napi::Value Session::create(Napi::Env env, SessionHandle handle, const spiked_model_info& shape,
                            std::shared_ptr<EngineThread> thread) {
  Parts parts{std::move(handle), shape, std::move(thread)};
  EnvState& state = EnvState::of(env);
  state.parts = &parts;
  Napi::Object object = state.session_class.New({});
  state.parts = nullptr;
  return object;
}

Session::Session(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Session>(info) {
  auto* parts = static_cast<Parts*>(EnvState::of(info.Env()).parts);
  if (parts == nullptr) {
    raise(info.Env(), invalid("Session: expected to be made by openSession, found a constructor call"));
    return;
  }
  handle_ = std::move(parts->handle);
  shape_ = parts->shape;
  thread_ = std::move(parts->thread);
  spiked_session_stats stats{};
  spiked_session_get_stats(handle_.get(), &stats);
  state_bytes_ = static_cast<int64_t>(stats.state_bytes);
  Napi::MemoryManagement::AdjustExternalMemory(info.Env(), state_bytes_);
}

Session::~Session() { free(Env()); }

void Session::free(Napi::Env env) {
  if (!handle_) return;
  handle_.reset();
  Napi::MemoryManagement::AdjustExternalMemory(env, -state_bytes_);
}

Failure Session::not_ready(const char* method) const {
  if (closed_) return {SPIKED_ERR_SESSION_CLOSED, "session: expected an open one, found it closed"};
  if (busy_) return invalid(std::string(method) + ": expected an idle session, found a call under way on it");
  return {};
}

Napi::Value Session::post(Napi::Env env, std::unique_ptr<Job> job) {
  begin_call();
  return thread_->post(env, std::move(job));
}

void Session::begin_call() {
  busy_ = true;
  Ref();
}

void Session::end_call() {
  busy_ = false;
  on_steps_.Reset();
  rows_.Reset();
  if (closed_) free(Env());
  Unref();
}

Napi::Value Session::forward(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("forward")) return rejection(env, failure);
  ArgReader args(env);
  std::vector<int32_t> ids = args.ids(info[0], "ids");
  const Napi::Object options = args.object(info[1], "options");
  // The choices stand in the order of enum spiked_logits.
  const size_t logits = args.choice(args.property(options, "logits", "options.logits"), "options.logits",
                                    {"none", "last", "all"});
  TraceOptions trace = TraceOptions::read(args, options, shape_, ids.size());
  if (args.failed()) return rejection(env, args.failure());
  return post(env, std::make_unique<ForwardJob>(env, *this, std::move(ids), static_cast<int32_t>(logits),
                                                std::move(trace)));
}

Napi::Value Session::step(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("step")) return rejection(env, failure);
  ArgReader args(env);
  std::vector<int32_t> ids = args.ids(info[0], "ids");
  StepSettings settings = StepSettings::read(args, env, info[1], info[2]);
  if (args.failed()) return rejection(env, args.failure());
  return post(env, std::make_unique<StepJob>(env, *this, std::move(ids), std::move(settings)));
}

Napi::Value Session::generate(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("generate")) return rejection(env, failure);
  ArgReader args(env);
  std::vector<int32_t> ids = args.ids(info[0], "ids");
  StepSettings settings = StepSettings::read(args, env, info[1], info[2]);
  GenerateLimits limits = GenerateLimits::read(args, info[2]);
  const Napi::Function on_steps = args.function(info[3], "onSteps");
  if (args.failed()) return rejection(env, args.failure());
  on_steps_ = Napi::Persistent(on_steps);
  rows_ = Napi::Persistent(
      Napi::Float64Array::New(env, GenerateJob::most_values(limits.max_tokens)).As<Napi::Object>());
  pause_ = false;
  return post(env, std::make_unique<GenerateJob>(env, *this, std::move(ids), std::move(settings),
                                                 std::move(limits), EnvState::of(env).outbox));
}

double* Session::rows(size_t n_values) {
  // JavaScript could have given its memory away.
  Napi::Float64Array rows = rows_.Value().As<Napi::Float64Array>();
  return rows.ElementLength() < n_values ? nullptr : rows.Data();
}

void Session::hand_over(Napi::Env env, size_t n) {
  if (closed_ || !thrown_.IsEmpty()) return;
  napi_value arguments[] = {rows_.Value(), Napi::Number::New(env, static_cast<double>(n))}, result = nullptr;
  // Not Function::Call: what JavaScript throws, or its termination in the middle, must not be thrown on here.
  if (napi_call_function(env, env.Undefined(), on_steps_.Value(), 2, arguments, &result) == napi_ok) return;
  spiked_session_cancel(handle_.get());
  if (env.IsExceptionPending()) thrown_ = env.GetAndClearPendingException();
}

bool Session::rethrow() {
  if (thrown_.IsEmpty()) return false;
  const Napi::Error thrown = std::move(thrown_);
  thrown_ = {};
  thrown.ThrowAsJavaScriptException();
  return true;
}

Napi::Value Session::pause(const Napi::CallbackInfo& info) {
  pause_ = true;
  return info.Env().Undefined();
}

Napi::Value Session::choose(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("choose")) return rejection(env, failure);
  ArgReader args(env);
  const Napi::Float32Array floats = args.floats(info[0], "hidden");
  Sampling sampling = read_sampling(args, info[1]);
  const spiked_head head = read_head(args, info[2]);
  if (args.failed()) return rejection(env, args.failure());
  const size_t n = floats.ElementLength(), d = shape_.embed_dim;
  if (n % d != 0)
    return rejection(env, invalid("hidden: expected a multiple of " + std::to_string(d) + " values, found " +
                                  std::to_string(n)));
  std::vector<float> hidden(floats.Data(), floats.Data() + n);
  return post(env, std::make_unique<ChooseJob>(env, *this, std::move(hidden), std::move(sampling), head));
}

Napi::Value Session::reference(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("reference")) return rejection(env, failure);
  ArgReader args(env);
  std::vector<int32_t> ids = args.ids(info[0], "ids");
  ReferenceOptions options = ReferenceOptions::read(args, info[1], shape_, ids.size());
  if (args.failed()) return rejection(env, args.failure());
  return post(env, std::make_unique<ReferenceJob>(env, *this, std::move(ids), std::move(options)));
}

Napi::Value Session::score(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("score")) return rejection(env, failure);
  ArgReader args(env);
  std::vector<int32_t> ids = args.ids(info[0], "ids");
  bool masked_mass = false;
  if (!info[1].IsUndefined()) {
    const Napi::Object options = args.object(info[1], "options");
    masked_mass =
        args.boolean(args.property(options, "maskedMass", "options.maskedMass"), "options.maskedMass");
  }
  if (args.failed()) return rejection(env, args.failure());
  return post(env, std::make_unique<ScoreJob>(env, *this, std::move(ids), masked_mass));
}

Napi::Value Session::fork(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("fork")) return rejection(env, failure);
  return post(env, std::make_unique<ForkJob>(env, *this, thread_));
}

Napi::Value Session::seed(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("seed")) return raise(env, failure);
  ArgReader args(env);
  const uint64_t seed = args.u64(info[0], "seed");
  if (args.failed()) return raise(env, args.failure());
  spiked_session_seed(handle_.get(), seed);
  return env.Undefined();
}

Napi::Value Session::reset(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("reset")) return raise(env, failure);
  spiked_error error{};
  if (spiked_session_reset(handle_.get(), &error) != SPIKED_OK) return raise(env, failure_of(error));
  return env.Undefined();
}

Napi::Value Session::cancel(const Napi::CallbackInfo& info) {
  if (handle_) spiked_session_cancel(handle_.get());
  return info.Env().Undefined();
}

Napi::Value Session::close(const Napi::CallbackInfo& info) {
  closed_ = true;
  if (!busy_) free(info.Env());
  return info.Env().Undefined();
}

}  // namespace spiked::addon
