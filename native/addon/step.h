#ifndef SPIKED_ADDON_STEP_H
#define SPIKED_ADDON_STEP_H

#include <napi.h>

#include <cstdint>
#include <vector>

#include "arg_reader.h"
#include "failure.h"
#include "sampling.h"

namespace spiked::addon {

/// How a step draws its id: Sampling and StepOptions of native/host/addon-types.ts.
struct StepSettings {
  Sampling sampling;
  spiked_head head{};
  bool want_logprob = false;

  static StepSettings read(ArgReader& args, Napi::Env env, const Napi::Value& sampling,
                           const Napi::Value& options);
};

/// What a step found.
struct Step {
  int32_t id = 0;
  float logprob = 0;
  uint64_t t_ns = 0;
  spiked_head_step head{};

  /// Feeds ids and draws the next one. Engine thread.
  Failure take(spiked_session* session, const std::vector<int32_t>& ids, const StepSettings& settings);
  /// StepResult. JS thread.
  Napi::Object value(Napi::Env env, const StepSettings& settings) const;
};

/// SessionStats.
Napi::Object stats_value(Napi::Env env, const spiked_session_stats& stats);

}  // namespace spiked::addon

#endif
