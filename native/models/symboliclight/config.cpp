#include "models/symboliclight/config.h"

#include <cmath>

namespace spiked::symboliclight {
namespace {

constexpr uint32_t kFormatVersion = 1;
// Far above any published model; low enough that no product of two of them overflows.
constexpr uint32_t kMaxDim = 1u << 20, kMaxLayers = 1024, kMaxVocab = 1u << 24;

const std::string kPrefix = "symboliclight.";

Status bad(const GgufFile& file, const std::string& what) {
  return {Code::ERR_MODEL_INVALID, file.path() + ": " + what};
}

struct Field {
  const char* key;
  uint32_t* out;
  uint32_t low, high;
};

Status read_fields(const GgufFile& file, const Field* fields, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const Field& f = fields[i];
    auto v = get_u32(file, kPrefix + f.key);
    if (!v.ok()) return v.status();
    if (v.value() < f.low || v.value() > f.high)
      return bad(file, format("metadata \"symboliclight.%s\": expected %u to %u, found %u", f.key, f.low,
                              f.high, v.value()));
    *f.out = v.value();
  }
  return {};
}

Status read_reals(const GgufFile& file, Config& c) {
  auto threshold = get_f32(file, kPrefix + "spike_threshold");
  if (!threshold.ok()) return threshold.status();
  auto leak = get_f32(file, kPrefix + "leak_factor");
  if (!leak.ok()) return leak.status();
  c.threshold = threshold.value();
  c.leak = leak.value();
  if (!std::isfinite(c.threshold))
    return bad(file, format("metadata \"symboliclight.spike_threshold\": expected a finite value, found %g",
                            static_cast<double>(c.threshold)));
  if (!std::isfinite(c.leak))
    return bad(file, format("metadata \"symboliclight.leak_factor\": expected a finite value, found %g",
                            static_cast<double>(c.leak)));
  auto sparse = get_bool(file, kPrefix + "enable_sparse_attn");
  if (!sparse.ok()) return sparse.status();
  auto prior = get_bool(file, kPrefix + "enable_dynamic_prior");
  if (!prior.ok()) return prior.status();
  c.sparse_attn = sparse.value();
  c.dynamic_prior = prior.value();
  return {};
}

Status read_form(const GgufFile& file, Config& c) {
  auto arch = get_string(file, "general.architecture");
  if (!arch.ok()) return arch.status();
  if (arch.value() != "symboliclight")
    return {Code::ERR_MODEL_UNSUPPORTED, file.path() + ": expected architecture \"symboliclight\", found \"" +
                                             std::string(arch.value().substr(0, 64)) + "\""};
  auto version = get_u32(file, kPrefix + "format_version");
  if (!version.ok()) return version.status();
  if (version.value() != kFormatVersion)
    return {
        Code::ERR_MODEL_VERSION,
        format("%s: expected format version %u, found %u; export the checkpoint again with `spikectl export`",
               file.path().c_str(), kFormatVersion, version.value())};
  auto form = get_string(file, kPrefix + "form");
  if (!form.ok()) return form.status();
  if (form.value() == "0.8b")
    c.form = Form::k08b;
  else if (form.value() == "194m")
    c.form = Form::k194m;
  else
    return bad(file, "metadata \"symboliclight.form\": expected \"0.8b\" or \"194m\", found \"" +
                         std::string(form.value().substr(0, 64)) + "\"");
  return {};
}

}  // namespace

Result<Config> Config::read(const GgufFile& file) {
  Config c{};
  SPIKED_TRY(read_form(file, c));
  const Field fields[] = {
      {"vocab_size", &c.vocab_size, 1, kMaxVocab},   {"tokenizer_size", &c.valid_vocab_size, 1, kMaxVocab},
      {"embed_dim", &c.embed_dim, 1, kMaxDim},       {"n_layers", &c.n_layers, 1, kMaxLayers},
      {"n_heads", &c.n_heads, 1, kMaxDim},           {"head_dim", &c.head_dim, 2, kMaxDim},
      {"intermediate_dim", &c.ffn_dim, 1, kMaxDim},  {"max_seq_len", &c.max_context, 1, kMaxDim},
      {"sparse_attn_window", &c.window, 0, kMaxDim}, {"n_global_anchors", &c.n_anchors, 0, kMaxDim},
  };
  SPIKED_TRY(read_fields(file, fields, std::size(fields)));
  SPIKED_TRY(read_reals(file, c));
  if (static_cast<uint64_t>(c.n_heads) * c.head_dim != c.embed_dim)
    return bad(file, format("expected n_heads * head_dim = embed_dim, found %u * %u and %u", c.n_heads,
                            c.head_dim, c.embed_dim));
  if (c.head_dim % 2 != 0)
    return bad(file,
               format("metadata \"symboliclight.head_dim\": expected an even number, found %u", c.head_dim));
  if (c.dynamic_prior && c.embed_dim < 4)
    return bad(file,
               format("metadata \"symboliclight.embed_dim\": expected at least 4, found %u", c.embed_dim));
  if (c.valid_vocab_size > c.vocab_size)
    return bad(file, format("the tokenizer has %u ids, more than the vocabulary's %u", c.valid_vocab_size,
                            c.vocab_size));
  if (c.form == Form::k08b && c.window == 0) c.window = 1;  // that form uses max(1, W)
  return c;
}

}  // namespace spiked::symboliclight
