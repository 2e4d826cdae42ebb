#include "session/model.h"

#include "models/open.h"
#include "session/workspace.h"

namespace spiked {
namespace {

bool is_sha256(std::string_view s) {
  if (s.size() != 64) return false;
  for (char c : s)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  return true;
}

Status read_names(const GgufFile& file, Model& m) {
  auto name = get_string(file, "general.name");
  if (!name.ok()) return name.status();
  m.name = std::string(name.value());
  constexpr const char* kDigest = "symboliclight.data_sha256";
  if (std::string_view(m.facts().architecture) != "symboliclight") return {};
  auto digest = get_string(file, kDigest);
  if (!digest.ok()) return digest.status();
  if (!is_sha256(digest.value()))
    return {Code::ERR_MODEL_INVALID,
            file.path() + ": metadata \"" + kDigest + "\": expected 64 lower-case hexadecimal digits"};
  m.data_sha256 = std::string(digest.value());
  return {};
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
  auto file = GgufFile::open(path, engine->loading, engine->ledger.get(), engine->network.low_memory);
  if (!file.ok()) return file.status();
  auto m = std::make_shared<Model>();
  m->engine = std::move(engine);
  m->file = file.take();
  auto network = open_network(*m->file, m->engine->network);
  if (!network.ok()) return network.status();
  m->network = network.take();
  SPIKED_TRY(read_names(*m->file, *m));
  SPIKED_TRY(read_tokenizer(*m->file, *m));
  SPIKED_TRY(m->file->unchanged());
  // The vocabulary alone is some megabytes.
  if (m->engine->network.low_memory) m->file->drop_header();
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

}  // namespace spiked
