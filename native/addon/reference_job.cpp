#include "reference_job.h"

namespace spiked::addon {

ReferenceOptions ReferenceOptions::read(ArgReader& args, const Napi::Value& value,
                                        const spiked_model_info& shape, size_t n) {
  ReferenceOptions out;
  const Napi::Object options = args.object(value, "options");
  if (args.failed()) return out;
  out.given = GivenSpikes::read(args, args.property(options, "given", "options.given"), "options.given",
                                SpikeCounts(shape, n));
  const Napi::Value activations = args.property(options, "activations", "options.activations");
  // The choices stand in the order of enum spiked_activations.
  if (!args.failed() && !activations.IsUndefined())
    out.activations =
        static_cast<int32_t>(args.choice(activations, "options.activations", {"f32", "i8", "i16"}));
  const Napi::Value inputs = args.property(options, "denseInputs", "options.denseInputs");
  if (args.failed() || inputs.IsUndefined()) return out;
  const Napi::Float32Array floats = args.floats(inputs, "options.denseInputs");
  if (args.failed()) return out;
  const size_t count = static_cast<size_t>(shape.n_layers) * 3 * n * shape.embed_dim;
  if (floats.ElementLength() != count)
    args.fail("options.denseInputs", std::to_string(count) + " values",
              std::to_string(floats.ElementLength()));
  else
    out.dense_inputs.assign(floats.Data(), floats.Data() + count);
  return out;
}

void ReferenceJob::run() {
  if (!spikes_.allocate(counts_) || !encoder_.allocate(counts_.encoder) || !ffn_.allocate(counts_.ffn) ||
      !block_.allocate(counts_.block) || !logits_.allocate(ids_.size() * vocab_size_)) {
    failure_ = {SPIKED_ERR_NO_MEMORY, "reference: expected memory for the results, found none"};
    return;
  }
  const spiked_reference_input input{options_.given.c(), options_.activations,
                                     options_.dense_inputs.empty() ? nullptr : options_.dense_inputs.data()};
  const spiked_reference_output output{spikes_.c(), encoder_.data(), ffn_.data(), block_.data(),
                                       logits_.data()};
  spiked_error error{};
  if (spiked_session_reference(handle_, ids_.data(), ids_.size(), &input, &output, &error) != SPIKED_OK)
    failure_ = failure_of(error);
}

Napi::Value ReferenceJob::value(Napi::Env env) {
  Napi::Object margins = Napi::Object::New(env);
  margins["encoder"] = encoder_.take(env);
  margins["ffn"] = ffn_.take(env);
  margins["block"] = block_.take(env);
  Napi::Object out = Napi::Object::New(env);
  out["spikes"] = spikes_.take(env);
  out["margins"] = margins;
  out["logits"] = logits_.take(env);
  return out;
}

}  // namespace spiked::addon
