#include <cstring>

#include "base/process_memory.h"
#include "capi/guard.h"
#include "capi/handles.h"

using namespace spiked;
using namespace spiked::capi;

namespace {

template <size_t n>
void copy(char (&out)[n], const std::string& text) {
  std::snprintf(out, n, "%s", text.c_str());
}

}  // namespace

spiked_status spiked_model_open(spiked_engine* engine, const char* path, spiked_model** out,
                                spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(engine, "engine"));
    SPIKED_TRY(require(path, "path"));
    SPIKED_TRY(require(out, "out"));
    auto model = Model::open(engine->engine, path);
    if (!model.ok()) return model.status();
    *out = new spiked_model{model.take()};
    return {};
  });
}

void spiked_model_close(spiked_model* model) { delete model; }

void spiked_model_get_info(const spiked_model* model, spiked_model_info* out) {
  const Model& m = *model->model;
  const symboliclight::Config& c = m.config;
  std::memset(out, 0, sizeof *out);
  copy(out->architecture, "symboliclight");
  copy(out->form, c.form == symboliclight::Form::k08b ? "0.8b" : "194m");
  copy(out->weights, symboliclight::weight_format_name(m.weights.storage.format));
  copy(out->layout_plan, symboliclight::layout_plan_name(m.weights.storage.layout));
  copy(out->name, m.name);
  copy(out->data_sha256, m.data_sha256);
  out->vocab_size = c.vocab_size;
  out->valid_vocab_size = c.valid_vocab_size;
  out->embed_dim = c.embed_dim;
  out->n_layers = c.n_layers;
  out->n_heads = c.n_heads;
  out->head_dim = c.head_dim;
  out->ffn_dim = c.ffn_dim;
  out->max_context = c.max_context;
  out->window = c.window;
  out->n_anchors = c.n_anchors;
  out->threshold = c.threshold;
  out->leak = c.leak;
  out->sparse_attn = c.sparse_attn ? 1 : 0;
  out->dynamic_prior = c.dynamic_prior ? 1 : 0;
  out->file_size_bytes = m.file->size_bytes();
  out->n_parameters = m.weights.n_parameters;
  out->dense_bytes = m.dense_bytes();
  out->column_bytes = m.column_bytes();
  out->tokenizer_offset_bytes = m.tokenizer_offset_bytes;
  out->tokenizer_size_bytes = m.tokenizer_size_bytes;
}

uint64_t spiked_model_prefix_cache_bytes(const spiked_model* model) {
  return model->model->prefixes ? model->model->prefixes->size_bytes() : 0;
}

spiked_status spiked_model_check_file(const spiked_model* model, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(model, "model"));
    return model->model->file->unchanged();
  });
}

void spiked_model_get_mapped(const spiked_model* model, uint64_t* resident_bytes, uint64_t* locked_bytes) {
  MappedUse use;
  if (model->model->engine->loading != Loading::kHugePages)
    use = mapped_use(model->model->file->data(), model->model->file->size_bytes());
  *resident_bytes = use.resident_bytes;
  *locked_bytes = use.locked_bytes;
}
