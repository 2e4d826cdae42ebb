#include "step.h"

#include "head.h"

namespace spiked::addon {

StepSettings StepSettings::read(ArgReader& args, Napi::Env env, const Napi::Value& sampling,
                                const Napi::Value& options) {
  StepSettings out;
  out.sampling = read_sampling(args, sampling);
  out.head = read_head(args, env.Undefined());
  if (options.IsUndefined()) return out;
  const Napi::Object object = args.object(options, "options");
  out.head = read_head(args, args.property(object, "head", "options.head"));
  const Napi::Value logprob = args.property(object, "logprob", "options.logprob");
  if (!args.failed() && !logprob.IsUndefined()) out.want_logprob = args.boolean(logprob, "options.logprob");
  return out;
}

Failure Step::take(spiked_session* session, const std::vector<int32_t>& ids, const StepSettings& settings) {
  spiked_error error{};
  const spiked_sampling sampling = settings.sampling.c();
  if (spiked_session_forward(session, ids.data(), ids.size(), SPIKED_LOGITS_NONE, nullptr, nullptr, &error) !=
          SPIKED_OK ||
      spiked_session_next(session, &sampling, &settings.head, &id, settings.want_logprob ? &logprob : nullptr,
                          &t_ns, &head, &error) != SPIKED_OK) {
    return failure_of(error);
  }
  return {};
}

Napi::Object Step::value(Napi::Env env, const StepSettings& settings) const {
  Napi::Object out = Napi::Object::New(env);
  out["id"] = Napi::Number::New(env, id);
  out["logprob"] = settings.want_logprob ? Napi::Number::New(env, static_cast<double>(logprob)) : env.Null();
  out["tNs"] = Napi::BigInt::New(env, t_ns);
  out["head"] = head_step_value(env, head);
  return out;
}

Napi::Object stats_value(Napi::Env env, const spiked_session_stats& stats) {
  const auto number = [env](uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Object out = Napi::Object::New(env);
  out["position"] = number(stats.position);
  out["mixerActive"] = number(stats.mixer_active);
  out["ffnActive"] = number(stats.ffn_active);
  out["mixerTotal"] = number(stats.mixer_total);
  out["ffnTotal"] = number(stats.ffn_total);
  out["bytesTouched"] = number(stats.bytes_touched);
  out["kvBytesTouched"] = number(stats.kv_bytes_touched);
  out["stateBytes"] = number(stats.state_bytes);
  out["cachedPositions"] = number(stats.cached_positions);
  out["batch"] = number(stats.batch);
  return out;
}

}  // namespace spiked::addon
