#ifndef SPIKED_ADDON_REFERENCE_JOB_H
#define SPIKED_ADDON_REFERENCE_JOB_H

#include "session_jobs.h"
#include "spikes.h"

namespace spiked::addon {

struct ReferenceOptions {
  GivenSpikes given;
  int32_t activations = SPIKED_ACTIVATIONS_F32;
  std::vector<float> dense_inputs;  ///< empty: none

  static ReferenceOptions read(ArgReader& args, const Napi::Value& value, const spiked_model_info& shape,
                               size_t n);
};

class ReferenceJob : public SessionJob {
 public:
  ReferenceJob(Napi::Env env, Session& session, std::vector<int32_t> ids, ReferenceOptions options)
      : SessionJob(env, session, std::move(ids)),
        options_(std::move(options)),
        counts_(session.shape(), ids_.size()),
        vocab_size_(session.shape().vocab_size) {}
  void run() override;

 protected:
  Napi::Value value(Napi::Env env) override;

 private:
  ReferenceOptions options_;
  SpikeCounts counts_;
  size_t vocab_size_;
  SpikeBuffers spikes_;
  Buffer<double> encoder_, ffn_, block_, logits_;
};

}  // namespace spiked::addon

#endif
