#include "models/bitnet/config.h"

#include <cmath>

namespace spiked::bitnet {
namespace {

// Far above any published model; low enough that no product of two of them overflows, and sums of codes stay exact (kernels.h).
constexpr uint32_t kMaxDim = (1u << 15) - 1, kMaxLayers = 1024, kMaxVocab = 1u << 24, kMaxContext = 1u << 20;
constexpr float kDefaultRopeBase = 10000.0f;

/// Reads keys below the architecture's name.
class Reader {
 public:
  Reader(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  Status number(const char* key, uint32_t low, uint32_t high, uint32_t* out) const {
    auto v = get_u32(file_, full(key));
    if (!v.ok()) return v.status();
    if (v.value() < low || v.value() > high)
      return bad(key, format("expected %u to %u, found %u", low, high, v.value()));
    *out = v.value();
    return {};
  }
  Status number_or(const char* key, uint32_t low, uint32_t high, uint32_t otherwise, uint32_t* out) const {
    if (has(key)) return number(key, low, high, out);
    *out = otherwise;
    return {};
  }
  Status positive(const char* key, float* out) const {
    auto v = get_f32(file_, full(key));
    if (!v.ok()) return v.status();
    if (!std::isfinite(v.value()) || v.value() <= 0.0f)
      return bad(key, format("expected a finite number above 0, found %g", static_cast<double>(v.value())));
    *out = v.value();
    return {};
  }
  bool has(const char* key) const { return file_.find(full(key)) != nullptr; }
  std::string full(const char* key) const { return prefix_ + "." + key; }

  Status bad(const char* key, const std::string& what) const {
    return error(Code::ERR_MODEL_INVALID, key, what);
  }
  Status unsupported(const char* key, const std::string& what) const {
    return error(Code::ERR_MODEL_UNSUPPORTED, key, what);
  }

 private:
  Status error(Code code, const char* key, const std::string& what) const {
    return {code, file_.path() + ": metadata \"" + full(key) + "\": " + what};
  }

  const GgufFile& file_;
  std::string prefix_;
};

Status read_heads(const Reader& in, Config& c) {
  SPIKED_TRY(in.number("attention.head_count", 1, kMaxDim, &c.n_heads));
  SPIKED_TRY(in.number_or("attention.head_count_kv", 1, kMaxDim, c.n_heads, &c.n_kv_heads));
  if (c.n_heads % c.n_kv_heads != 0)
    return in.bad("attention.head_count_kv",
                  format("expected a divisor of the %u heads, found %u", c.n_heads, c.n_kv_heads));
  if (!in.has("attention.key_length") && c.embed_dim % c.n_heads != 0)
    return in.bad("attention.head_count",
                  format("expected a divisor of embedding_length %u, found %u", c.embed_dim, c.n_heads));
  SPIKED_TRY(in.number_or("attention.key_length", 2, kMaxDim, c.embed_dim / c.n_heads, &c.head_dim));
  uint32_t value_dim = 0;
  SPIKED_TRY(in.number_or("attention.value_length", 2, kMaxDim, c.head_dim, &value_dim));
  if (value_dim != c.head_dim)
    return in.unsupported("attention.value_length",
                          format("expected the key length %u, found %u", c.head_dim, value_dim));
  if (c.head_dim % 2 != 0)
    return in.bad("attention.head_count", format("expected an even head size, found %u", c.head_dim));
  if (c.attn_dim() > kMaxDim)
    return in.bad("attention.head_count",
                  format("expected at most %u values in all heads, found %zu", kMaxDim, c.attn_dim()));
  return {};
}

Status read_rope(const Reader& in, const GgufFile& file, Config& c) {
  uint32_t rotated = 0;
  SPIKED_TRY(in.number_or("rope.dimension_count", 1, kMaxDim, c.head_dim, &rotated));
  if (rotated != c.head_dim)
    return in.unsupported("rope.dimension_count",
                          format("expected the head size %u, found %u", c.head_dim, rotated));
  c.rope_base = kDefaultRopeBase;
  if (in.has("rope.freq_base")) SPIKED_TRY(in.positive("rope.freq_base", &c.rope_base));
  if (in.has("rope.scaling.type")) {
    auto type = get_string(file, in.full("rope.scaling.type"));
    if (!type.ok()) return type.status();
    if (type.value() != "none")
      return in.unsupported("rope.scaling.type",
                            "expected \"none\", found \"" + std::string(type.value().substr(0, 32)) + "\"");
  }
  return {};
}

Status check_activation(const Reader& in, const GgufFile& file) {
  if (!in.has("hidden_activation")) return {};  // as in every published file
  auto name = get_string(file, in.full("hidden_activation"));
  if (!name.ok()) return name.status();
  if (name.value() != "relu2")
    return in.unsupported("hidden_activation",
                          "expected \"relu2\", found \"" + std::string(name.value().substr(0, 32)) + "\"");
  return {};
}

Status check_vocabulary(const GgufFile& file, const Config& c) {
  const GgufEntry* tokens = file.find("tokenizer.ggml.tokens");
  if (tokens == nullptr) return {};
  if (tokens->type != GgufType::kArray || tokens->element_type != GgufType::kString)
    return {Code::ERR_MODEL_INVALID,
            file.path() + ": metadata \"tokenizer.ggml.tokens\": expected an array of strings"};
  if (tokens->length != c.vocab_size)
    return {Code::ERR_MODEL_INVALID,
            format("%s: metadata \"tokenizer.ggml.tokens\": expected the vocabulary's %u strings, found %llu",
                   file.path().c_str(), c.vocab_size, (unsigned long long)tokens->length)};
  return {};
}

}  // namespace

Result<Config> Config::read(const GgufFile& file, const NetworkOptions& options) {
  Config c{};
  auto architecture = get_string(file, "general.architecture");
  if (!architecture.ok()) return architecture.status();
  c.architecture = std::string(architecture.value());
  const Reader in(file, c.architecture);
  SPIKED_TRY(in.number("vocab_size", 1, kMaxVocab, &c.vocab_size));
  SPIKED_TRY(in.number("embedding_length", 2, kMaxDim, &c.embed_dim));
  SPIKED_TRY(in.number("block_count", 1, kMaxLayers, &c.n_layers));
  SPIKED_TRY(in.number("feed_forward_length", 1, kMaxDim, &c.ffn_dim));
  SPIKED_TRY(in.number("context_length", 1, kMaxContext, &c.max_context));
  SPIKED_TRY(in.positive("attention.layer_norm_rms_epsilon", &c.norm_eps));
  SPIKED_TRY(read_heads(in, c));
  SPIKED_TRY(read_rope(in, file, c));
  SPIKED_TRY(check_activation(in, file));
  SPIKED_TRY(check_vocabulary(file, c));
  if (options.context > c.max_context)
    return Status{Code::ERR_INVALID_ARGUMENT,
                  format("context: expected at most the %u positions that %s was made for, found %u",
                         c.max_context, file.path().c_str(), options.context)};
  c.context = options.context == 0 ? c.max_context : options.context;
  c.kv_f16 = options.kv_f16;
  c.half_away = options.half_away;
  return c;
}

}  // namespace spiked::bitnet
