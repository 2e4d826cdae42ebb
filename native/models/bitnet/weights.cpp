#include "models/bitnet/weights.h"

#include <cmath>
#include <cstring>
#include <set>

#include "base/math.h"

namespace spiked::bitnet {
namespace {

/// Takes tensors one by one, each checked, and knows at the end whether any is left over.
class Taker {
 public:
  explicit Taker(const GgufFile& file) : file_(file) {}

  Status norm(const std::string& name, size_t n, const float** out) {
    auto t = take(name, DType::kF32, {n, 1});
    if (!t.ok()) return t.status();
    *out = reinterpret_cast<const float*>(t.value()->data);
    for (size_t i = 0; i < n; ++i)
      if (!std::isfinite((*out)[i]))
        return error(name,
                     format("expected finite values, found %g at %zu", static_cast<double>((*out)[i]), i));
    return {};
  }

  Status ternary(const std::string& name, size_t rows, size_t cols, Matrix* out) {
    auto t = take(name, DType::kT2, {cols, rows});
    if (!t.ok()) return t.status();
    const size_t n_bytes = rows * cols / 4;
    const uint8_t* data = t.value()->data;
    const auto* scale = reinterpret_cast<const float*>(data + n_bytes);
    float value;
    std::memcpy(&value, scale, sizeof value);
    if (!std::isfinite(value) || value <= 0.0f)
      return error(name, format("expected a finite scale above 0, found %g", static_cast<double>(value)));
    if (const size_t at = first_code_3(data, n_bytes); at != n_bytes)
      return error(name, format("expected 2-bit codes 0 to 2, found 3 in byte %zu", at));
    *out = {DType::kT2, Layout::kRowMajor, rows, cols, {round_up(rows, layout::kPanelRows), cols}, data,
            scale};
    return {};
  }

  // Too large to be read at load: a value that is not finite ends the request that meets it.
  Result<const GgufTensor*> table(const std::string& name, size_t rows, size_t cols) {
    return take(name, DType::kF16, {cols, rows});
  }
  bool has(const std::string& name) const { return file_.tensor(name) != nullptr; }

  Status nothing_left() const {
    for (const GgufTensor& t : file_.tensors())
      if (!taken_.contains(t.name)) return error(std::string(t.name), "is no tensor of this configuration");
    return {};
  }

  uint64_t n_parameters() const { return n_parameters_; }

 private:
  Status error(const std::string& name, const std::string& what) const {
    return {Code::ERR_MODEL_TENSOR, file_.path() + ": tensor \"" + name + "\": " + what};
  }

  Result<const GgufTensor*> take(const std::string& name, DType dtype, std::pair<uint64_t, uint64_t> dims) {
    const GgufTensor* t = file_.tensor(name);
    if (t == nullptr) return error(name, "expected shape " + shape(dims) + ", found no such tensor");
    taken_.insert(t->name);
    if (t->type != static_cast<uint32_t>(dtype))
      return error(name, format("expected type %s, found %s", dtype_name(dtype), ggml_type_name(t->type)));
    if (t->dims[0] != dims.first || t->dims[1] != dims.second || t->dims[2] != 1 || t->dims[3] != 1)
      return error(name, "expected shape " + shape(dims) + ", found " + shape({t->dims[0], t->dims[1]}));
    n_parameters_ += dims.first * dims.second;
    return t;
  }

  // As in the checkpoint, rows first; a vector has one.
  static std::string shape(std::pair<uint64_t, uint64_t> dims) {
    if (dims.second == 1) return format("[%llu]", (unsigned long long)dims.first);
    return format("[%llu, %llu]", (unsigned long long)dims.second, (unsigned long long)dims.first);
  }

  // Offset of the first byte with a code 3, or n.
  static size_t first_code_3(const uint8_t* data, size_t n) {
    constexpr size_t kStep = 4096;
    for (size_t begin = 0; begin < n; begin += kStep) {
      const size_t end = begin + kStep < n ? begin + kStep : n;
      uint8_t found = 0;
      for (size_t i = begin; i < end; ++i) found |= data[i] & (data[i] >> 1) & 0x55;
      if (found == 0) continue;
      for (size_t i = begin; i < end; ++i)
        if ((data[i] & (data[i] >> 1) & 0x55) != 0) return i;
    }
    return n;
  }

  const GgufFile& file_;
  std::set<std::string_view> taken_;
  uint64_t n_parameters_ = 0;
};

// base^(-2i / d), by our own functions: the same bits on every machine.
std::vector<float> frequencies(const Config& c) {
  std::vector<float> out(c.head_dim / 2);
  const double log_base = math::log_f64(static_cast<double>(c.rope_base));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(
        math::exp_f64(-2.0 * static_cast<double>(i) / static_cast<double>(c.head_dim) * log_base));
  return out;
}

Status map_block(Taker& take, const Config& c, size_t layer, BlockWeights& b) {
  const std::string at = "blk." + std::to_string(layer) + ".";
  const size_t d = c.embed_dim, a = c.attn_dim(), kv = c.kv_dim(), f = c.ffn_dim;
  SPIKED_TRY(take.norm(at + "attn_norm.weight", d, &b.attn_norm));
  SPIKED_TRY(take.ternary(at + "attn_q.weight", a, d, &b.q));
  SPIKED_TRY(take.ternary(at + "attn_k.weight", kv, d, &b.k));
  SPIKED_TRY(take.ternary(at + "attn_v.weight", kv, d, &b.v));
  SPIKED_TRY(take.norm(at + "attn_sub_norm.weight", a, &b.attn_sub_norm));
  SPIKED_TRY(take.ternary(at + "attn_output.weight", d, a, &b.out));
  SPIKED_TRY(take.norm(at + "ffn_norm.weight", d, &b.ffn_norm));
  SPIKED_TRY(take.ternary(at + "ffn_gate.weight", f, d, &b.gate));
  SPIKED_TRY(take.ternary(at + "ffn_up.weight", f, d, &b.up));
  SPIKED_TRY(take.norm(at + "ffn_sub_norm.weight", f, &b.ffn_sub_norm));
  return take.ternary(at + "ffn_down.weight", d, f, &b.down);
}

}  // namespace

Result<Weights> Weights::map(const GgufFile& file, const Config& c, bool low_memory) {
  Taker take(file);
  Weights w;
  auto embedding = take.table("token_embd.weight", c.vocab_size, c.embed_dim);
  if (!embedding.ok()) return embedding.status();
  const GgufTensor* output = embedding.value();
  if (take.has("output.weight")) {  // the first published form has a head of its own
    auto own = take.table("output.weight", c.vocab_size, c.embed_dim);
    if (!own.ok()) return own.status();
    output = own.value();
  }
  w.head.output = {DType::kF16,
                   Layout::kRowMajor,
                   c.vocab_size,
                   c.embed_dim,
                   {round_up(c.vocab_size, layout::kPanelRows), c.embed_dim},
                   output->data,
                   nullptr};
  w.embedding = reinterpret_cast<const uint16_t*>(embedding.value()->data);
  if (low_memory) {
    w.embedding_rows = std::make_unique<const RowFile>(file, *embedding.value());
    w.output_rows = std::make_unique<const RowFile>(file, *output);
    w.embedding = nullptr;
    w.head.output.data = nullptr;
    w.head.output.file = w.output_rows.get();
  }
  SPIKED_TRY(take.norm("output_norm.weight", c.embed_dim, &w.output_norm));
  w.blocks.resize(c.n_layers);
  for (size_t i = 0; i < c.n_layers; ++i) SPIKED_TRY(map_block(take, c, i, w.blocks[i]));
  SPIKED_TRY(take.nothing_left());
  w.inv_freq = frequencies(c);
  w.n_parameters = take.n_parameters();
  return w;
}

}  // namespace spiked::bitnet
