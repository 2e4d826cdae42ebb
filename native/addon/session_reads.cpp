// What a session can be asked between two calls. Copies of small state, made on the JS thread.
#include <cstring>
#include <new>
#include <vector>

#include "arg_reader.h"
#include "env_state.h"
#include "sampling.h"
#include "session.h"
#include "step.h"

namespace spiked::addon {

Napi::Value Session::probabilities(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("probabilities")) return raise(env, failure);
  ArgReader args(env);
  const Sampling sampling = read_sampling(args, info[0]);
  if (args.failed()) return raise(env, args.failure());
  std::vector<spiked_probability> found(shape_.vocab_size);
  size_t n = found.size();
  const spiked_sampling c_sampling = sampling.c();
  spiked_error error{};
  if (spiked_session_probabilities(handle_.get(), &c_sampling, found.data(), &n, &error) != SPIKED_OK) {
    return raise(env, failure_of(error));
  }
  Napi::Array out = Napi::Array::New(env, n);
  for (size_t i = 0; i < n; ++i) {
    Napi::HandleScope scope(env);
    Napi::Object entry = Napi::Object::New(env);
    entry["id"] = Napi::Number::New(env, found[i].id);
    entry["probability"] = Napi::Number::New(env, static_cast<double>(found[i].probability));
    out[static_cast<uint32_t>(i)] = entry;
  }
  return out;
}

Napi::Value Session::stats(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("stats")) return raise(env, failure);
  spiked_session_stats stats{};
  spiked_session_get_stats(handle_.get(), &stats);
  return stats_value(env, stats);
}

Napi::Value Session::profile(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("profile")) return raise(env, failure);
  ArgReader args(env);
  const bool on = args.boolean(info[0], "on");
  if (args.failed()) return raise(env, args.failure());
  spiked_session_set_profile(handle_.get(), on ? 1 : 0);
  return env.Undefined();
}

Napi::Value Session::profile_ns(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("profileNs")) return raise(env, failure);
  spiked_profile_entry entries[32];
  size_t n = 32;
  spiked_error error{};
  if (spiked_session_read_profile(handle_.get(), entries, &n, &error) != SPIKED_OK)
    return raise(env, failure_of(error));
  Napi::Object out = Napi::Object::New(env);
  for (size_t i = 0; i < n; ++i)
    out[entries[i].operation] = Napi::Number::New(env, static_cast<double>(entries[i].ns));
  return out;
}

Napi::Value Session::membrane(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("membrane")) return raise(env, failure);
  Napi::Float32Array out = Napi::Float32Array::New(env, shape_.embed_dim);
  spiked_error error{};
  if (spiked_session_membrane(handle_.get(), out.Data(), &error) != SPIKED_OK)
    return raise(env, failure_of(error));
  return out;
}

Napi::Value Session::decay_state(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("decayState")) return raise(env, failure);
  Napi::Float32Array out = Napi::Float32Array::New(env, size_t{shape_.n_layers} * shape_.embed_dim);
  spiked_error error{};
  if (spiked_session_decay(handle_.get(), out.Data(), &error) != SPIKED_OK)
    return raise(env, failure_of(error));
  return out;
}

Napi::Value Session::kv_positions(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (Failure failure = not_ready("kvPositions")) return raise(env, failure);
  spiked_session_stats stats{};
  spiked_session_get_stats(handle_.get(), &stats);
  std::vector<int32_t> kept(stats.position);  // no more than were fed
  size_t n = kept.size();
  spiked_error error{};
  if (spiked_session_kv_positions(handle_.get(), kept.data(), &n, &error) != SPIKED_OK) {
    return raise(env, failure_of(error));
  }
  Napi::Int32Array out = Napi::Int32Array::New(env, n);
  if (n > 0) std::memcpy(out.Data(), kept.data(), n * sizeof(int32_t));
  return out;
}

}  // namespace spiked::addon
