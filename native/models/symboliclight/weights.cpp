#include "models/symboliclight/weights.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/math.h"

namespace spiked::symboliclight {
namespace {

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

/// Takes tensors one by one, each checked, and knows at the end whether any is left over.
class Taker {
 public:
  Taker(const GgufFile& file, DType linear) : file_(file), linear_(linear) {}

  // Values are few, so all are checked for being finite.
  Status vector(const std::string& name, size_t n, const float** out) {
    auto t = take(name, DType::kF32, Layout::kRowMajor, {n});
    if (!t.ok()) return t.status();
    *out = reinterpret_cast<const float*>(t.value()->data);
    return finite(name, *out, n, false);
  }

  // Too large to be read at load: a value that is not finite shows in the logits, where sampling refuses it.
  Status embedding(const std::string& name, size_t rows, size_t cols, const float** out) {
    auto t = take(name, DType::kF32, Layout::kRowMajor, {rows, cols});
    if (!t.ok()) return t.status();
    *out = reinterpret_cast<const float*>(t.value()->data);
    return {};
  }

  Status linear(const std::string& name, Layout layout, size_t rows, size_t cols, Matrix* out) {
    auto t = take(name, linear_, layout, {rows, cols});
    if (!t.ok()) return t.status();
    *out = {linear_, layout, rows, cols, packed_shape(layout, rows, cols), t.value()->data, nullptr};
    return linear_ == DType::kI8 ? scale(name, *out) : Status{};
  }

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

  Result<const GgufTensor*> take(const std::string& name, DType dtype, Layout layout,
                                 const std::vector<uint64_t>& shape) {
    const GgufTensor* t = file_.tensor(name);
    if (t == nullptr) return error(name, "expected shape " + shape_text(shape) + ", found no such tensor");
    taken_.insert(t->name);
    if (t->type != static_cast<uint32_t>(dtype))
      return error(name, format("expected type %s, found %s", dtype_name(dtype), ggml_type_name(t->type)));
    auto found_layout = get_string(file_, "symboliclight.layout." + name);
    if (!found_layout.ok()) return found_layout.status();
    if (found_layout.value() != layout_name(layout))
      return error(name, std::string("expected layout ") + layout_name(layout) + ", found " +
                             std::string(found_layout.value().substr(0, 32)));
    auto found_shape = get_u64_array(file_, "symboliclight.shape." + name);
    if (!found_shape.ok()) return found_shape.status();
    if (found_shape.value() != shape)
      return error(name,
                   "expected shape " + shape_text(shape) + ", found " + shape_text(found_shape.value()));
    SPIKED_TRY(check_dims(*t, name, layout, shape));
    uint64_t n = 1;
    for (uint64_t d : shape) n *= d;
    n_parameters_ += n;
    return t;
  }

  // GGUF dims, fastest first, must be those of the packed form.
  Status check_dims(const GgufTensor& t, const std::string& name, Layout layout,
                    const std::vector<uint64_t>& shape) const {
    std::vector<uint64_t> expected;
    if (shape.size() == 1) {
      expected = {shape[0]};
    } else {
      const PackedShape p = packed_shape(layout, shape[0], shape[1]);
      expected = layout == Layout::kColumnMajor ? std::vector<uint64_t>{p.rows, p.cols}
                                                : std::vector<uint64_t>{p.cols, p.rows};
    }
    const std::vector<uint64_t> found(t.dims, t.dims + t.n_dims);
    if (found != expected)
      return error(name, "expected stored dims " + shape_text(expected) + ", found " + shape_text(found));
    return {};
  }

  Status scale(const std::string& name, Matrix& w) {
    auto declared = get_u64_array(file_, "symboliclight.scale_shape." + name);
    if (!declared.ok()) return declared.status();
    if (declared.value() != std::vector<uint64_t>{w.rows})
      return error(name, "expected scale shape " + shape_text({w.rows}) + " (one an output), found " +
                             shape_text(declared.value()));
    const std::string scale_name = name + ".scale";
    const GgufTensor* t = file_.tensor(scale_name);
    if (t == nullptr) return error(scale_name, "expected the scale of an I8 tensor, found no such tensor");
    taken_.insert(t->name);
    if (t->type != static_cast<uint32_t>(DType::kF32) || t->n_dims != 1 || t->dims[0] != w.packed.rows)
      return error(scale_name, format("expected F32 [%zu], found %s [%llu]", w.packed.rows,
                                      ggml_type_name(t->type), (unsigned long long)t->dims[0]));
    w.scale = reinterpret_cast<const float*>(t->data);
    return finite(scale_name, w.scale, w.rows, true);
  }

  Status finite(const std::string& name, const float* v, size_t n, bool positive) const {
    for (size_t i = 0; i < n; ++i)
      if (!std::isfinite(v[i]) || (positive && !(v[i] > 0.0f)))
        return error(name, format("expected %s values, found %g at index %zu",
                                  positive ? "finite positive" : "finite", static_cast<double>(v[i]), i));
    return {};
  }

  const GgufFile& file_;
  DType linear_;
  std::set<std::string_view> taken_;
  uint64_t n_parameters_ = 0;
};

Status take_norm(Taker& take, const std::string& prefix, size_t n, ops::NormWeights* out) {
  SPIKED_TRY(take.vector(prefix + ".weight", n, &out->weight));
  return take.vector(prefix + ".bias", n, &out->bias);
}

Status take_block(Taker& take, const Config& c, const std::string& prefix, BlockWeights& b) {
  const size_t d = c.embed_dim, f = c.ffn_dim;
  const std::string tcam = prefix + "tcam.", attn = tcam + "sparse_attn.", ffn = prefix + "ffn.";
  SPIKED_TRY(take.linear(tcam + "tcam_proj.weight", Layout::kColumnMajor, d, d, &b.tcam));
  SPIKED_TRY(take.linear(tcam + "out_proj.weight", Layout::kPanel4x32, d, d, &b.out));
  SPIKED_TRY(take_norm(take, tcam + "norm", d, &b.tcam_norm));
  SPIKED_TRY(take.vector(tcam + "decay_raw", c.n_heads, &b.decay_raw));
  if (c.sparse_attn || c.form == Form::k08b) {
    SPIKED_TRY(take.vector(tcam + "attn_gate", 1, &b.gate_raw));
    b.gate = math::sigmoid_f32(*b.gate_raw);
  }
  if (c.sparse_attn) {
    SPIKED_TRY(take.linear(attn + "q_proj.weight", Layout::kPanel4x32, d, d, &b.q));
    SPIKED_TRY(take.linear(attn + "k_proj.weight", Layout::kPanel4x32, d, d, &b.k));
    SPIKED_TRY(take.linear(attn + "v_proj.weight", Layout::kPanel4x32, d, d, &b.v));
    SPIKED_TRY(take.vector(attn + "rope.inv_freq", c.head_dim / 2, &b.inv_freq));
  }
  SPIKED_TRY(take.linear(ffn + "up.weight", Layout::kPanel4x32, f, d, &b.up));
  SPIKED_TRY(take.linear(ffn + "down.weight", Layout::kColumnMajor, d, f, &b.down));
  return take_norm(take, ffn + "norm", d, &b.ffn_norm);
}

Status take_head(Taker& take, const Config& c, HeadWeights& h) {
  const std::string prefix = "output_head.";
  SPIKED_TRY(
      take.linear(prefix + "output_proj.weight", Layout::kPanel4x32, c.vocab_size, c.embed_dim, &h.output));
  h.prior_weight = 0.1f;  // the 194M form's constant
  if (c.form == Form::k08b) {
    const float* p = nullptr;
    SPIKED_TRY(take.vector(prefix + "prior_weight", 1, &p));
    h.prior_weight = *p;
  }
  if (!c.dynamic_prior) return take.vector(prefix + "log_prior", c.vocab_size, &h.log_prior);
  SPIKED_TRY(take.linear(prefix + "prior_net.0.weight", Layout::kPanel4x32, c.prior_dim(), c.embed_dim,
                         &h.prior_in));
  return take.linear(prefix + "prior_net.2.weight", Layout::kPanel4x32, c.vocab_size, c.prior_dim(),
                     &h.prior_out);
}

}  // namespace

Result<Weights> Weights::map(const GgufFile& file, const Config& c) {
  auto kind = get_string(file, "symboliclight.weights");
  if (!kind.ok()) return kind.status();
  if (kind.value() != "f32" && kind.value() != "int8")
    return Status{Code::ERR_MODEL_UNSUPPORTED,
                  file.path() +
                      ": metadata \"symboliclight.weights\": expected \"f32\" or \"int8\", found \"" +
                      std::string(kind.value().substr(0, 32)) + "\""};
  if (file.alignment() != kAlign)
    return Status{Code::ERR_MODEL_INVALID, format("%s: general.alignment: expected %zu, found %u",
                                                  file.path().c_str(), kAlign, file.alignment())};
  Weights w;
  w.int8 = kind.value() == "int8";
  Taker take(file, w.int8 ? DType::kI8 : DType::kF32);
  SPIKED_TRY(take.embedding("spike_encoder.frontend.text_embedding.weight", c.vocab_size, c.embed_dim,
                            &w.embedding));
  SPIKED_TRY(take_norm(take, "spike_encoder.norm", c.embed_dim, &w.encoder_norm));
  w.blocks.resize(c.n_layers);
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    SPIKED_TRY(take_block(take, c, "blocks." + std::to_string(i) + ".", w.blocks[i]));
    if (c.sparse_attn)
      w.blocks[i].own_angles =
          i == 0 ||
          !std::equal(w.blocks[i].inv_freq, w.blocks[i].inv_freq + c.head_dim / 2, w.blocks[i - 1].inv_freq);
  }
  SPIKED_TRY(take_head(take, c, w.head));
  SPIKED_TRY(take.nothing_left());
  w.n_parameters = take.n_parameters();
  return w;
}

}  // namespace spiked::symboliclight
