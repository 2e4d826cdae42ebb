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
  const Facts& f = m.facts();
  std::memset(out, 0, sizeof *out);
  copy(out->architecture, f.architecture);
  copy(out->form, f.form);
  copy(out->weights, f.weights);
  copy(out->layout_plan, f.layout_plan);
  copy(out->name, m.name);
  copy(out->data_sha256, m.data_sha256);
  out->vocab_size = f.vocab_size;
  out->valid_vocab_size = f.valid_vocab_size;
  out->embed_dim = f.embed_dim;
  out->n_layers = f.n_layers;
  out->n_heads = f.n_heads;
  out->n_kv_heads = f.n_kv_heads;
  out->head_dim = f.head_dim;
  out->ffn_dim = f.ffn_dim;
  out->max_context = f.max_context;
  out->window = f.window;
  out->n_anchors = f.n_anchors;
  out->threshold = f.threshold;
  out->leak = f.leak;
  out->sparse_attn = f.sparse_attn ? 1 : 0;
  out->dynamic_prior = f.dynamic_prior ? 1 : 0;
  out->file_size_bytes = m.file->size_bytes();
  out->n_parameters = f.n_parameters;
  out->dense_bytes = m.network->dense_bytes();
  out->column_bytes = m.network->column_bytes();
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
