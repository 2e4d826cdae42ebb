#include "session/model.h"

#include "session/workspace.h"

namespace spiked {
namespace {

bool is_sha256(std::string_view s) {
  if (s.size() != 64) return false;
  for (char c : s)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  return true;
}

const char* name(ops::Activations precision) { return precision == ops::Activations::kI8 ? "i8" : "i16"; }

// The sums of quantised products are exact below 2^17 columns.
Status check_width(const Model& m) {
  const ops::Activations precision = m.engine->activations;
  if (precision == ops::Activations::kF32 || m.config.embed_dim < 1u << 17) return {};
  return {Code::ERR_MODEL_UNSUPPORTED, format("%s: %s activations: expected embed_dim below 131072, found %u",
                                              m.file->path().c_str(), name(precision), m.config.embed_dim)};
}

// There is no product of F32 weights with quantised activations.
Status check_weights(const Model& m) {
  const ops::Activations precision = m.engine->activations;
  if (precision == ops::Activations::kF32 || m.weights.blocks[0].out.dtype != DType::kF32) return {};
  return {Code::ERR_MODEL_UNSUPPORTED, format("%s: %s activations: expected quantised weights, found f32",
                                              m.file->path().c_str(), name(precision))};
}

// What a product with spikes reads whatever they are: panels are read whole.
uint64_t binary_bytes(const Matrix& w) {
  return w.layout == Layout::kColumnMajor ? w.scale_bytes() : w.logical_bytes();
}

Status read_tokenizer(const GgufFile& file, Model& m) {
  const GgufEntry* e = file.find("tokenizer.sentencepiece.model");
  if (e == nullptr) return {};
  if (e->type != GgufType::kArray || e->element_type != GgufType::kU8 || e->length == 0)
    return {Code::ERR_MODEL_INVALID,
            file.path() + ": metadata \"tokenizer.sentencepiece.model\": expected a non-empty array of u8"};
  m.tokenizer_offset_bytes = file.offset_of(e->data);
  m.tokenizer_size_bytes = e->length;
  return {};
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::open(std::shared_ptr<Engine> engine, const std::string& path) {
  auto file = GgufFile::open(path, engine->loading, engine->ledger.get());
  if (!file.ok()) return file.status();
  auto m = std::make_shared<Model>();
  m->engine = std::move(engine);
  m->file = file.take();
  auto config = symboliclight::Config::read(*m->file);
  if (!config.ok()) return config.status();
  m->config = config.value();
  SPIKED_TRY(check_width(*m));
  auto weights = symboliclight::Weights::map(*m->file, m->config);
  if (!weights.ok()) return weights.status();
  m->weights = weights.take();
  SPIKED_TRY(check_weights(*m));
  auto name = get_string(*m->file, "general.name");
  if (!name.ok()) return name.status();
  m->name = std::string(name.value());
  auto digest = get_string(*m->file, "symboliclight.data_sha256");
  if (!digest.ok()) return digest.status();
  if (!is_sha256(digest.value()))
    return Status{
        Code::ERR_MODEL_INVALID,
        path + ": metadata \"symboliclight.data_sha256\": expected 64 lower-case hexadecimal digits"};
  m->data_sha256 = std::string(digest.value());
  SPIKED_TRY(read_tokenizer(*m->file, *m));
  SPIKED_TRY(m->file->unchanged());
  if (const size_t size_bytes = m->engine->prefix_cache_bytes; size_bytes != 0) {
    auto held = m->ask(Memory::kPrefixCache, size_bytes, "its prefix cache");
    if (!held.ok()) return held.status();
    m->reserved.push_back(held.take());
    m->prefixes = std::make_shared<PrefixCache>(size_bytes);
  }
  // Fresh pages cost nothing until they are written: it can say what it needs before it has it.
  m->workspace = std::make_shared<Workspace>(*m);
  auto scratch = m->ask(Memory::kScratch, m->workspace->size_bytes(), "its scratch");
  if (!scratch.ok()) return scratch.status();
  m->reserved.push_back(scratch.take());
  return std::shared_ptr<const Model>(std::move(m));
}

Result<Reservation> Model::ask(Memory use, uint64_t size_bytes, const char* what) const {
  return engine->ledger->reserve(use, size_bytes, file->path() + ": " + what);
}

uint64_t Model::column_bytes() const {
  // A column is embed_dim weights in both binary-input projections.
  const Matrix& w = weights.blocks[0].tcam;
  return w.layout == Layout::kColumnMajor ? w.column_bytes() : 0;
}

uint64_t Model::dense_bytes() const {
  const uint64_t norm = 2ull * config.embed_dim * sizeof(float);
  uint64_t n = norm;
  for (const symboliclight::BlockWeights& b : weights.blocks) {
    n += b.out.logical_bytes() + b.up.logical_bytes() + 2 * norm + (config.n_heads + 1ull) * sizeof(float);
    n += binary_bytes(b.tcam) + binary_bytes(b.down);
    if (config.sparse_attn)
      n += b.q.logical_bytes() + b.k.logical_bytes() + b.v.logical_bytes() +
           config.head_dim / 2 * sizeof(float);
  }
  return n;
}

}  // namespace spiked
