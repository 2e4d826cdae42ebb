#include "models/bitnet/network.h"

#include "models/bitnet/forward.h"

namespace spiked::bitnet {
namespace {

Facts facts_of(const Config& c, const Weights& w) {
  Facts f;
  f.weights = "i2_s";
  f.vocab_size = f.valid_vocab_size = c.vocab_size;
  f.embed_dim = c.embed_dim;
  f.n_layers = c.n_layers;
  f.n_heads = c.n_heads;
  f.n_kv_heads = c.n_kv_heads;
  f.head_dim = c.head_dim;
  f.ffn_dim = c.ffn_dim;
  f.max_context = f.room = c.context;
  f.n_parameters = w.n_parameters;
  return f;
}

}  // namespace

Network::Network(const Config& config, Weights weights)
    : config_(config), weights_(std::move(weights)), facts_(facts_of(config_, weights_)) {
  facts_.architecture = config_.architecture.c_str();
}

std::unique_ptr<Sequence> Network::new_sequence() const { return std::make_unique<State>(config_); }

size_t Network::sequence_bytes() const { return State::size_bytes(config_); }

std::unique_ptr<spiked::Scratch> Network::new_scratch(unsigned n_workers) const {
  return std::make_unique<Scratch>(config_, n_workers);
}

Status Network::check_trace(const Trace& t) const {
  if (t.active_encoder == nullptr && t.active_mixer == nullptr && t.active_ffn == nullptr &&
      t.spikes.encoder == nullptr && t.spikes.ffn == nullptr && t.spikes.block == nullptr &&
      t.given.encoder == nullptr && t.given.ffn == nullptr && t.given.block == nullptr &&
      t.dense_inputs == nullptr)
    return {};
  return {Code::ERR_MODEL_UNSUPPORTED, "trace: a ternary model has no spikes and no float inputs to record"};
}

bool Network::forward(const Pass& pass, std::span<Part> parts, spiked::Scratch& scratch, Trace* trace) const {
  return bitnet::forward(pass, *this, parts, static_cast<Scratch&>(scratch), trace);
}

uint64_t Network::dense_bytes() const {
  uint64_t n = config_.embed_dim * sizeof(float);
  for (const BlockWeights& b : weights_.blocks) {
    for (const Matrix* w : {&b.q, &b.k, &b.v, &b.out, &b.gate, &b.up, &b.down}) n += w->logical_bytes();
    n += (2ull * config_.embed_dim + config_.attn_dim() + config_.ffn_dim) * sizeof(float);
  }
  return n;
}

Result<std::unique_ptr<const spiked::Network>> open(const GgufFile& file, const NetworkOptions& options) {
  auto config = Config::read(file, options);
  if (!config.ok()) return config.status();
  auto weights = Weights::map(file, config.value(), options.low_memory);
  if (!weights.ok()) return weights.status();
  return std::unique_ptr<const spiked::Network>(std::make_unique<Network>(config.value(), weights.take()));
}

}  // namespace spiked::bitnet
