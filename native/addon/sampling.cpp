#include "sampling.h"

#include <limits>

namespace spiked::addon {

Sampling read_sampling(ArgReader& args, const Napi::Value& value) {
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  constexpr double kMinFloat = std::numeric_limits<float>::min();
  constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
  Sampling sampling;
  const Napi::Object object = args.object(value, "sampling");
  const auto number = [&](const char* key, double min, double max) {
    const std::string name = std::string("sampling.") + key;
    return static_cast<float>(args.number(args.property(object, key, name), name, min, max));
  };
  sampling.fields.temperature = number("temperature", 0, kMaxFloat);
  const std::string top_k = "sampling.topK";
  sampling.fields.top_k =
      static_cast<int32_t>(args.integer(args.property(object, "topK", top_k), top_k, 0, kMaxInt));
  sampling.fields.top_p = number("topP", 0, 1);
  sampling.fields.repetition_penalty = number("repetitionPenalty", kMinFloat, kMaxFloat);
  const std::string adaptive = "sampling.adaptiveTemperature";
  sampling.fields.adaptive_temperature =
      args.boolean(args.property(object, "adaptiveTemperature", adaptive), adaptive) ? 1 : 0;
  const std::string valid = "sampling.validVocabSize";
  const Napi::Value valid_value = args.property(object, "validVocabSize", valid);
  if (!valid_value.IsUndefined())
    sampling.fields.valid_vocab_size = static_cast<uint32_t>(args.integer(valid_value, valid, 1, kMaxInt));
  const std::string banned = "sampling.bannedIds";
  sampling.banned_ids = args.ids(args.property(object, "bannedIds", banned), banned);
  return sampling;
}

}  // namespace spiked::addon
