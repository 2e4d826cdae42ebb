#include "engine.h"

#include <algorithm>
#include <iterator>

#include "arg_reader.h"
#include "env_state.h"
#include "model.h"
#include "model_open_job.h"

namespace spiked::addon {
namespace {

/// By their numbers in spiked.h.
constexpr const char* kActivations[] = {"f32", "i8", "i16"};
constexpr const char* kLoading[] = {"readahead", "prefault", "huge_pages", "locked"};
constexpr const char* kKv[] = {"f32", "f16"};
constexpr const char* kMemory[] = {"normal", "low"};
constexpr const char* kContract[] = {"bitnet", "hyphae"};

}  // namespace

Napi::Function Engine::define(Napi::Env env) {
  return DefineClass(env, "Engine",
                     {
                         InstanceAccessor<&Engine::isa>("isa", napi_enumerable),
                         InstanceAccessor<&Engine::threads>("threads", napi_enumerable),
                         InstanceAccessor<&Engine::activations>("activations", napi_enumerable),
                         InstanceAccessor<&Engine::cpus>("cpus", napi_enumerable),
                         InstanceAccessor<&Engine::loading>("loading", napi_enumerable),
                         InstanceMethod<&Engine::progress>("progress"),
                         InstanceMethod<&Engine::open_model>("openModel"),
                         InstanceMethod<&Engine::memory>("memory"),
                         InstanceMethod<&Engine::close>("close"),
                     });
}

Napi::Value Engine::open(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const Napi::Object options = args.object(info[0], "options");
  const Napi::Value threads_value = args.property(options, "threads", "options.threads");
  // 0 leaves the number to the engine.
  const double threads =
      threads_value.IsUndefined() ? 0 : args.integer(threads_value, "options.threads", 1, 256);
  const Napi::Value isa_value = args.property(options, "isa", "options.isa");
  const std::string isa = isa_value.IsUndefined() ? std::string() : args.string(isa_value, "options.isa");
  const Napi::Value activations_value = args.property(options, "activations", "options.activations");
  const std::string activations =
      activations_value.IsUndefined() ? "f32" : args.string(activations_value, "options.activations");
  const Napi::Value cpus_value = args.property(options, "cpus", "options.cpus");
  const std::string cpus = cpus_value.IsUndefined() ? std::string() : args.string(cpus_value, "options.cpus");
  const Napi::Value loading_value = args.property(options, "loading", "options.loading");
  const size_t loading =
      loading_value.IsUndefined()
          ? 0
          : args.choice(loading_value, "options.loading", {std::begin(kLoading), std::end(kLoading)});
  const Napi::Value cache_value = args.property(options, "prefixCacheBytes", "options.prefixCacheBytes");
  const double cache_bytes =
      cache_value.IsUndefined() ? 0 : args.integer(cache_value, "options.prefixCacheBytes", 0, 0x1p53 - 1);
  const Napi::Value budget_value = args.property(options, "ramBudgetBytes", "options.ramBudgetBytes");
  const double budget_bytes =
      budget_value.IsUndefined() ? 0 : args.integer(budget_value, "options.ramBudgetBytes", 1, 0x1p53 - 1);
  const Napi::Value context_value = args.property(options, "context", "options.context");
  const double context =
      context_value.IsUndefined() ? 0 : args.integer(context_value, "options.context", 1, 0x1p31);
  const auto choose = [&](const char* name, const char* path, auto& names) -> size_t {
    const Napi::Value value = args.property(options, name, path);
    return value.IsUndefined() ? 0 : args.choice(value, path, {std::begin(names), std::end(names)});
  };
  const size_t kv = choose("kv", "options.kv", kKv);
  const size_t memory = choose("memory", "options.memory", kMemory);
  const size_t contract = choose("contract", "options.contract", kContract);
  const Napi::Value head_bits_value = args.property(options, "headBits", "options.headBits");
  const double head_bits =
      head_bits_value.IsUndefined() ? 0 : args.integer(head_bits_value, "options.headBits", 4, 8);
  if (args.failed()) return raise(env, args.failure());
  const auto* precision = std::find(std::begin(kActivations), std::end(kActivations), activations);
  if (precision == std::end(kActivations))
    return raise(env, invalid("options.activations: expected \"f32\", \"i16\" or \"i8\", found \"" +
                              activations + "\""));

  const spiked_engine_options c_options{static_cast<uint32_t>(threads),
                                        isa_value.IsUndefined() ? nullptr : isa.c_str(),
                                        static_cast<int32_t>(precision - std::begin(kActivations)),
                                        cpus.c_str(),
                                        static_cast<int32_t>(loading),
                                        static_cast<uint64_t>(cache_bytes),
                                        static_cast<uint64_t>(budget_bytes),
                                        static_cast<uint32_t>(context),
                                        static_cast<int32_t>(kv),
                                        static_cast<int32_t>(memory),
                                        static_cast<int32_t>(contract),
                                        static_cast<uint32_t>(head_bits)};
  spiked_engine* handle = nullptr;
  spiked_error error{};
  if (spiked_engine_open(&c_options, &handle, &error) != SPIKED_OK) return raise(env, failure_of(error));
  EnvState& state = EnvState::of(env);
  EngineHandle owned(handle);
  spiked_status placed = SPIKED_OK;
  auto thread = state.start_thread([&] { placed = spiked_engine_own_thread(handle, &error); });
  if (placed != SPIKED_OK) return raise(env, failure_of(error));
  Parts parts{std::move(owned), std::move(thread), kLoading[loading]};
  if (!parts.thread) {
    return raise(env,
                 {SPIKED_ERR_NO_MEMORY, "engine: expected a new thread, found that the system gives none"});
  }
  state.parts = &parts;
  Napi::Object object = state.engine_class.New({});
  state.parts = nullptr;
  return object;
}

Engine::Engine(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Engine>(info) {
  auto* parts = static_cast<Parts*>(EnvState::of(info.Env()).parts);
  if (parts == nullptr) {
    raise(info.Env(), invalid("Engine: expected to be made by openEngine, found a constructor call"));
    return;
  }
  handle_ = std::move(parts->handle);
  thread_ = std::move(parts->thread);
  isa_ = spiked_engine_isa(handle_.get());
  activations_ = kActivations[spiked_engine_activations(handle_.get())];
  n_threads_ = spiked_engine_threads(handle_.get());
  cpus_ = spiked_engine_cpus(handle_.get());
  loading_ = parts->loading;
}

Napi::Value Engine::isa(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), isa_); }

Napi::Value Engine::activations(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), activations_);
}

Napi::Value Engine::cpus(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), cpus_); }

Napi::Value Engine::loading(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), loading_);
}

Napi::Value Engine::threads(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), n_threads_);
}

Napi::Value Engine::progress(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Napi::Object out = Napi::Object::New(env);
  out["count"] = Napi::Number::New(env, handle_ ? spiked_engine_progress(handle_.get()) : 0);
  out["pending"] = Napi::Number::New(env, static_cast<double>(EnvState::of(env).outbox->expected()));
  return out;
}

Napi::Value Engine::open_model(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (closed_)
    return rejection(env, {SPIKED_ERR_SESSION_CLOSED, "engine: expected an open one, found it closed"});
  ArgReader args(env);
  std::string path = args.string(info[0], "path");
  if (args.failed()) return rejection(env, args.failure());
  begin_call();
  return thread_->post(env, std::make_unique<ModelOpenJob>(env, *this, thread_, std::move(path)));
}

Napi::Value Engine::memory(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!handle_)
    return raise(env, {SPIKED_ERR_SESSION_CLOSED, "engine: expected an open one, found it closed"});
  spiked_memory memory{};
  spiked_engine_get_memory(handle_.get(), &memory);
  const auto number = [env](uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Object out = Napi::Object::New(env);
  out["budgetBytes"] = memory.budget == 0 ? env.Null() : number(memory.budget);
  out["baseBytes"] = number(memory.base);
  out["weightsBytes"] = number(memory.weights);
  out["copiesBytes"] = number(memory.copies);
  out["sessionsBytes"] = number(memory.sessions);
  out["scratchBytes"] = number(memory.scratch);
  out["prefixCacheBytes"] = number(memory.prefix_cache);
  return out;
}

Napi::Value Engine::close(const Napi::CallbackInfo& info) {
  closed_ = true;
  if (n_calls_ == 0) handle_.reset();
  return info.Env().Undefined();
}

void Engine::begin_call() {
  ++n_calls_;
  Ref();
}

void Engine::end_call() {
  if (--n_calls_ == 0 && closed_) handle_.reset();
  Unref();
}

}  // namespace spiked::addon
