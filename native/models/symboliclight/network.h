#pragma once
#include "models/network.h"
#include "models/symboliclight/weights.h"

namespace spiked::symboliclight {

class Network final : public spiked::Network {
 public:
  Network(const Config& config, Weights weights);

  const Config& config() const { return config_; }
  const Weights& weights() const { return weights_; }

  const Facts& facts() const override { return facts_; }
  const HeadWeights& head() const override { return weights_.head; }
  std::unique_ptr<Sequence> new_sequence() const override;
  size_t sequence_bytes() const override;
  std::unique_ptr<spiked::Scratch> new_scratch(unsigned n_workers) const override;
  Status check_trace(const Trace& trace) const override;
  bool forward(const Pass& pass, std::span<Part> parts, spiked::Scratch& scratch,
               Trace* trace) const override;
  uint64_t dense_bytes() const override;
  uint64_t column_bytes() const override;
  uint64_t embedding_bytes() const override { return config_.embed_dim * sizeof(float); }
  uint64_t key_bytes() const override { return 2ull * config_.embed_dim * sizeof(float); }

 private:
  Config config_;
  Weights weights_;
  Facts facts_;
};

/// Errors: ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR.
Result<std::unique_ptr<const spiked::Network>> open(const GgufFile& file, const NetworkOptions& options);

}  // namespace spiked::symboliclight
