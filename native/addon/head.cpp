#include "head.h"

#include <iterator>
#include <limits>

namespace spiked::addon {
namespace {

// In the order of the C enum.
constexpr const char* kModes[] = {"full", "scan", "gate", "certified", "topk"};

}  // namespace

spiked_head read_head(ArgReader& args, const Napi::Value& value) {
  constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
  spiked_head head{SPIKED_HEAD_FULL, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_PROJECTION, 32, 0.5f, 0};
  if (value.IsUndefined()) return head;
  const Napi::Object object = args.object(value, "head");
  const auto get = [&](const char* key) {
    return args.failed() ? Napi::Value() : args.property(object, key, std::string("head.") + key);
  };
  const auto given = [&](const Napi::Value& found) { return !args.failed() && !found.IsUndefined(); };
  // The choices stand in the order of the C enums.
  head.mode =
      static_cast<int32_t>(args.choice(get("mode"), "head.mode", {std::begin(kModes), std::end(kModes)}));
  if (const Napi::Value found = get("activations"); given(found))
    head.activations = static_cast<int32_t>(args.choice(found, "head.activations", {"f32", "i8", "i16"}));
  if (const Napi::Value found = get("scope"); given(found))
    head.scope = static_cast<int32_t>(args.choice(found, "head.scope", {"projection", "head"}));
  if (const Napi::Value found = get("k"); given(found))
    head.k = static_cast<uint32_t>(args.integer(found, "head.k", 1, kMaxInt));
  if (const Napi::Value found = get("threshold"); given(found))
    head.threshold = static_cast<float>(
        args.number(found, "head.threshold", 0, static_cast<double>(std::numeric_limits<float>::max())));
  if (const Napi::Value found = get("cap"); given(found))
    head.cap = static_cast<uint32_t>(args.integer(found, "head.cap", 1, kMaxInt));
  return head;
}

Napi::Object head_step_value(Napi::Env env, const spiked_head_step& step) {
  Napi::Object out = Napi::Object::New(env);
  const auto number = [&](const char* key, double value) { out[key] = Napi::Number::New(env, value); };
  out["mode"] = Napi::String::New(env, kModes[step.mode]);
  out["triggered"] = Napi::Boolean::New(env, step.triggered != 0);
  out["proved"] = Napi::Boolean::New(env, step.proved != 0);
  out["fellBack"] = Napi::Boolean::New(env, step.fell_back != 0);
  number("gap", static_cast<double>(step.gap));
  number("rows", step.rows);
  number("survivors", step.survivors);
  number("idBefore", step.id_before);
  number("projectionNs", static_cast<double>(step.projection_ns));
  number("priorNs", static_cast<double>(step.prior_ns));
  number("selectionNs", static_cast<double>(step.selection_ns));
  number("verificationNs", static_cast<double>(step.verification_ns));
  number("bytes", static_cast<double>(step.bytes));
  return out;
}

}  // namespace spiked::addon
