#include "spikes.h"

#include "describe.h"

namespace spiked::addon {
namespace {

std::vector<uint8_t> read_one(ArgReader& args, const Napi::Object& spikes, const char* key,
                              const std::string& parent, size_t count) {
  const std::string name = parent + "." + key;
  const Napi::Value value = args.property(spikes, key, name);
  if (args.failed()) return {};
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    args.fail(name, "a Uint8Array", describe(value));
    return {};
  }
  const auto bytes = value.As<Napi::Uint8Array>();
  if (bytes.ElementLength() != count) {
    args.fail(name, std::to_string(count) + " values", std::to_string(bytes.ElementLength()));
    return {};
  }
  std::vector<uint8_t> copy(bytes.Data(), bytes.Data() + count);
  for (size_t i = 0; i < count; ++i) {
    if (copy[i] <= SPIKED_SPIKE_FREE) continue;
    args.fail(name, "0, 1 or 2", std::to_string(copy[i]) + " at index " + std::to_string(i));
    return {};
  }
  return copy;
}

}  // namespace

GivenSpikes GivenSpikes::read(ArgReader& args, const Napi::Value& value, const std::string& name,
                              const SpikeCounts& counts) {
  if (args.failed() || value.IsUndefined()) return {};
  const Napi::Object spikes = args.object(value, name);
  if (args.failed()) return {};
  return {read_one(args, spikes, "encoder", name, counts.encoder),
          read_one(args, spikes, "ffn", name, counts.ffn),
          read_one(args, spikes, "block", name, counts.block)};
}

spiked_given_spikes GivenSpikes::c() const {
  const auto pointer = [](const std::vector<uint8_t>& bytes) {
    return bytes.empty() ? nullptr : bytes.data();
  };
  return {pointer(encoder), pointer(ffn), pointer(block)};
}

bool SpikeBuffers::allocate(const SpikeCounts& counts) {
  return encoder.allocate(counts.encoder) && ffn.allocate(counts.ffn) && block.allocate(counts.block);
}

Napi::Value SpikeBuffers::take(Napi::Env env) {
  if (encoder.data() == nullptr) return env.Null();
  Napi::Object out = Napi::Object::New(env);
  out["encoder"] = encoder.take(env);
  out["ffn"] = ffn.take(env);
  out["block"] = block.take(env);
  return out;
}

}  // namespace spiked::addon
