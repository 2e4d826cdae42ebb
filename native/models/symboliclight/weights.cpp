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

// GGUF has no type for 4-bit panels: they are bytes there.
uint32_t file_type(DType dtype) { return static_cast<uint32_t>(dtype == DType::kI4 ? DType::kI8 : dtype); }

// GGUF dims of a packed matrix, fastest first.
std::vector<uint64_t> file_dims(Layout layout, const PackedShape& p) {
  switch (layout) {
    case Layout::kColumnMajor:
      return {p.rows, p.cols};
    case Layout::kPanel4x32I4:
      return {layout::i4_panel_bytes(p.cols), p.rows / layout::kPanelRows};
    case Layout::kPanel4x32:
    case Layout::kRowMajor:
      break;
  }
  return {p.cols, p.rows};
}

/// Takes tensors one by one, each checked, and knows at the end whether any is left over.
class Taker {
 public:
  Taker(const GgufFile& file, const StoragePlan& plan) : file_(file), plan_(plan) {}

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

  /// A Linear weight that meets continuous inputs.
  Status dense(const std::string& name, size_t rows, size_t cols, Matrix* out) {
    return linear(name, plan_.dense(), rows, cols, out);
  }

  /// A Linear weight that meets spikes.
  Status binary(const std::string& name, size_t rows, size_t cols, Matrix* out) {
    return linear(name, plan_.binary(), rows, cols, out);
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

  Status linear(const std::string& name, StoragePlan::Storage as, size_t rows, size_t cols, Matrix* out) {
    auto t = take(name, as.dtype, as.layout, {rows, cols});
    if (!t.ok()) return t.status();
    *out = {as.dtype, as.layout, rows, cols, packed_shape(as.layout, rows, cols), t.value()->data, nullptr};
    switch (as.dtype) {
      case DType::kI8:
        return scale(name, *out);
      case DType::kI4:  // the scales lie among the weights, which are too large to be read at load
        return scale_shape(name, {rows, (cols + layout::kGroupColumns - 1) / layout::kGroupColumns},
                           "one an output and group of 32 inputs");
      case DType::kF32:
      case DType::kF16:  // of no plan
      case DType::kT2:
        break;
    }
    return {};
  }

  Result<const GgufTensor*> take(const std::string& name, DType dtype, Layout layout,
                                 const std::vector<uint64_t>& shape) {
    const GgufTensor* t = file_.tensor(name);
    if (t == nullptr) return error(name, "expected shape " + shape_text(shape) + ", found no such tensor");
    taken_.insert(t->name);
    if (t->type != file_type(dtype))
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
      expected = file_dims(layout, packed_shape(layout, shape[0], shape[1]));
    }
    const std::vector<uint64_t> found(t.dims, t.dims + t.n_dims);
    if (found != expected)
      return error(name, "expected stored dims " + shape_text(expected) + ", found " + shape_text(found));
    return {};
  }

  // A transposed scale may have the right number of elements, so the declared shape counts.
  Status scale_shape(const std::string& name, const std::vector<uint64_t>& expected, const char* why) const {
    auto declared = get_u64_array(file_, "symboliclight.scale_shape." + name);
    if (!declared.ok()) return declared.status();
    if (declared.value() == expected) return {};
    return error(name, "expected scale shape " + shape_text(expected) + " (" + why + "), found " +
                           shape_text(declared.value()));
  }

  Status scale(const std::string& name, Matrix& w) {
    SPIKED_TRY(scale_shape(name, {w.rows}, "one an output"));
    const std::string scale_name = name + ".scale";
    const GgufTensor* t = file_.tensor(scale_name);
    if (t == nullptr) return error(scale_name, "expected the scale of an I8 tensor, found no such tensor");
    taken_.insert(t->name);
    if (t->type != static_cast<uint32_t>(DType::kF32) || t->n_dims != 1 || t->dims[0] != w.packed.rows)
      return error(scale_name, format("expected F32 [%zu], found %s [%llu]", w.packed.rows,
                                      ggml_type_name(t->type), (unsigned long long)t->dims[0]));
    w.scale = reinterpret_cast<const float*>(t->data);
    SPIKED_TRY(finite(scale_name, w.scale, w.rows, true));
    // Rows and columns may round up to one length: a scale of the columns then shows in the padding.
    for (size_t r = w.rows; r < w.packed.rows; ++r)
      if (w.scale[r] != 0.0f)
        return error(scale_name, format("expected %zu scales and zeros behind them, found %g at index %zu",
                                        w.rows, static_cast<double>(w.scale[r]), r));
    return {};
  }

  Status finite(const std::string& name, const float* v, size_t n, bool positive) const {
    for (size_t i = 0; i < n; ++i)
      if (!std::isfinite(v[i]) || (positive && !(v[i] > 0.0f)))
        return error(name, format("expected %s values, found %g at index %zu",
                                  positive ? "finite positive" : "finite", static_cast<double>(v[i]), i));
    return {};
  }

  const GgufFile& file_;
  const StoragePlan& plan_;
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
  SPIKED_TRY(take.binary(tcam + "tcam_proj.weight", d, d, &b.tcam));
  SPIKED_TRY(take.dense(tcam + "out_proj.weight", d, d, &b.out));
  SPIKED_TRY(take_norm(take, tcam + "norm", d, &b.tcam_norm));
  SPIKED_TRY(take.vector(tcam + "decay_raw", c.n_heads, &b.decay_raw));
  if (c.sparse_attn || c.form == Form::k08b) {
    SPIKED_TRY(take.vector(tcam + "attn_gate", 1, &b.gate_raw));
    b.gate = math::sigmoid_f32(*b.gate_raw);
  }
  if (c.sparse_attn) {
    SPIKED_TRY(take.dense(attn + "q_proj.weight", d, d, &b.q));
    SPIKED_TRY(take.dense(attn + "k_proj.weight", d, d, &b.k));
    SPIKED_TRY(take.dense(attn + "v_proj.weight", d, d, &b.v));
    SPIKED_TRY(take.vector(attn + "rope.inv_freq", c.head_dim / 2, &b.inv_freq));
  }
  SPIKED_TRY(take.dense(ffn + "up.weight", f, d, &b.up));
  SPIKED_TRY(take.binary(ffn + "down.weight", d, f, &b.down));
  return take_norm(take, ffn + "norm", d, &b.ffn_norm);
}

Status take_head(Taker& take, const Config& c, HeadWeights& h) {
  const std::string prefix = "output_head.";
  SPIKED_TRY(take.dense(prefix + "output_proj.weight", c.vocab_size, c.embed_dim, &h.output));
  h.prior_weight = 0.1f;  // the 194M form's constant
  if (c.form == Form::k08b) {
    const float* p = nullptr;
    SPIKED_TRY(take.vector(prefix + "prior_weight", 1, &p));
    h.prior_weight = *p;
  }
  if (!c.dynamic_prior) return take.vector(prefix + "log_prior", c.vocab_size, &h.log_prior);
  SPIKED_TRY(take.dense(prefix + "prior_net.0.weight", c.prior_dim(), c.embed_dim, &h.prior_in));
  return take.dense(prefix + "prior_net.2.weight", c.vocab_size, c.prior_dim(), &h.prior_out);
}

}  // namespace

Result<Weights> Weights::map(const GgufFile& file, const Config& c) {
  auto storage = StoragePlan::read(file);
  if (!storage.ok()) return storage.status();
  if (file.alignment() != kAlign)
    return Status{Code::ERR_MODEL_INVALID, format("%s: general.alignment: expected %zu, found %u",
                                                  file.path().c_str(), kAlign, file.alignment())};
  Weights w;
  w.storage = storage.value();
  Taker take(file, w.storage);
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
