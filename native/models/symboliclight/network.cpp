#include "models/symboliclight/network.h"

#include "models/symboliclight/forward.h"
#include "models/symboliclight/state.h"

namespace spiked::symboliclight {
namespace {

const char* name(ops::Activations precision) { return precision == ops::Activations::kI8 ? "i8" : "i16"; }

// The sums of quantised products are exact below 2^17 columns.
Status check_width(const GgufFile& file, const Config& c, ops::Activations precision) {
  if (precision == ops::Activations::kF32 || c.embed_dim < 1u << 17) return {};
  return {Code::ERR_MODEL_UNSUPPORTED, format("%s: %s activations: expected embed_dim below 131072, found %u",
                                              file.path().c_str(), name(precision), c.embed_dim)};
}

// There is no product of F32 weights with quantised activations.
Status check_weights(const GgufFile& file, const Weights& w, ops::Activations precision) {
  if (precision == ops::Activations::kF32 || w.blocks[0].out.dtype != DType::kF32) return {};
  return {Code::ERR_MODEL_UNSUPPORTED, format("%s: %s activations: expected quantised weights, found f32",
                                              file.path().c_str(), name(precision))};
}

// What a product with spikes reads whatever they are: panels are read whole.
uint64_t binary_bytes(const Matrix& w) {
  return w.layout == Layout::kColumnMajor ? w.scale_bytes() : w.logical_bytes();
}

Facts facts_of(const Config& c, const Weights& w) {
  Facts f;
  f.architecture = "symboliclight";
  f.form = c.form == Form::k08b ? "0.8b" : "194m";
  f.weights = weight_format_name(w.storage.format);
  f.layout_plan = layout_plan_name(w.storage.layout);
  f.vocab_size = c.vocab_size;
  f.valid_vocab_size = c.valid_vocab_size;
  f.embed_dim = c.embed_dim;
  f.n_layers = c.n_layers;
  f.n_heads = f.n_kv_heads = c.n_heads;
  f.head_dim = c.head_dim;
  f.ffn_dim = c.ffn_dim;
  f.max_context = c.max_context;
  f.window = c.window;
  f.n_anchors = c.n_anchors;
  f.threshold = c.threshold;
  f.leak = c.leak;
  f.sparse_attn = c.sparse_attn;
  f.dynamic_prior = c.dynamic_prior;
  f.n_parameters = w.n_parameters;
  return f;
}

}  // namespace

Network::Network(const Config& config, Weights weights)
    : config_(config), weights_(std::move(weights)), facts_(facts_of(config_, weights_)) {}

std::unique_ptr<Sequence> Network::new_sequence() const { return std::make_unique<State>(config_); }

size_t Network::sequence_bytes() const { return State::size_bytes(config_); }

std::unique_ptr<spiked::Scratch> Network::new_scratch(unsigned n_workers) const {
  return std::make_unique<Scratch>(config_, n_workers);
}

Status Network::check_trace(const Trace& t) const {
  const TernaryCodes& c = t.codes;
  if (c.attn_in == nullptr && c.attn_out == nullptr && c.ffn_in == nullptr && c.ffn_down == nullptr &&
      c.absmax == nullptr && t.final_norm == nullptr)
    return {};
  return {Code::ERR_MODEL_UNSUPPORTED,
          "trace: a symboliclight model has no ternary activations and no final norm to record"};
}

bool Network::forward(const Pass& pass, std::span<Part> parts, spiked::Scratch& scratch, Trace* trace) const {
  return symboliclight::forward(pass, *this, parts, static_cast<Scratch&>(scratch), trace);
}

uint64_t Network::column_bytes() const {
  // A column is embed_dim weights in both binary-input projections.
  const Matrix& w = weights_.blocks[0].tcam;
  return w.layout == Layout::kColumnMajor ? w.column_bytes() : 0;
}

uint64_t Network::dense_bytes() const {
  const uint64_t norm = 2ull * config_.embed_dim * sizeof(float);
  uint64_t n = norm;
  for (const BlockWeights& b : weights_.blocks) {
    n += b.out.logical_bytes() + b.up.logical_bytes() + 2 * norm + (config_.n_heads + 1ull) * sizeof(float);
    n += binary_bytes(b.tcam) + binary_bytes(b.down);
    if (config_.sparse_attn)
      n += b.q.logical_bytes() + b.k.logical_bytes() + b.v.logical_bytes() +
           config_.head_dim / 2 * sizeof(float);
  }
  return n;
}

Result<std::unique_ptr<const spiked::Network>> open(const GgufFile& file, const NetworkOptions& options) {
  auto config = Config::read(file);
  if (!config.ok()) return config.status();
  const char* unfit = options.kv_f16       ? "kv \"f16\""
                      : options.low_memory ? "memory \"low\""
                      : options.half_away  ? "contract \"hyphae\""
                                           : nullptr;
  if (unfit != nullptr)
    return Status{
        Code::ERR_MODEL_UNSUPPORTED,
        format("%s: %s: expected a ternary model, found a symboliclight one", file.path().c_str(), unfit)};
  SPIKED_TRY(check_width(file, config.value(), options.activations));
  auto weights = Weights::map(file, config.value());
  if (!weights.ok()) return weights.status();
  SPIKED_TRY(check_weights(file, weights.value(), options.activations));
  return std::unique_ptr<const spiked::Network>(std::make_unique<Network>(config.value(), weights.take()));
}

}  // namespace spiked::symboliclight
