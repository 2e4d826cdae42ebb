#include "capi/guard.h"
#include "capi/handles.h"

using namespace spiked;
using namespace spiked::capi;

namespace {

Status one_of_two(const char* name, int32_t found, const char* first, const char* second) {
  if (found == 0 || found == 1) return {};
  return {Code::ERR_INVALID_ARGUMENT,
          format("%s: expected 0 (%s) or 1 (%s), found %d", name, first, second, found)};
}

}  // namespace

const char* spiked_isa(size_t i, int32_t* supported) {
  const auto& all = kernels::isas();
  if (i >= all.size()) return nullptr;
  if (supported != nullptr) *supported = all[i].supported ? 1 : 0;
  return all[i].name;
}

spiked_status spiked_engine_open(const spiked_engine_options* options, spiked_engine** out,
                                 spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(options, "options"));
    SPIKED_TRY(require(out, "out"));
    const int32_t activations = options->activations;
    if (activations < SPIKED_ACTIVATIONS_F32 || activations > SPIKED_ACTIVATIONS_I16)
      return {Code::ERR_INVALID_ARGUMENT,
              format("activations: expected 0 (f32), 1 (i8) or 2 (i16), found %d", activations)};
    const int32_t loading = options->loading;
    if (loading < SPIKED_LOADING_READAHEAD || loading > SPIKED_LOADING_LOCKED)
      return {Code::ERR_INVALID_ARGUMENT,
              format("loading: expected 0 (readahead), 1 (prefault), 2 (huge pages) or 3 (locked), found %d",
                     loading)};
    SPIKED_TRY(one_of_two("kv", options->kv, "f32", "f16"));
    SPIKED_TRY(one_of_two("memory", options->memory, "normal", "low"));
    SPIKED_TRY(one_of_two("contract", options->contract, "bitnet", "hyphae"));
    const uint32_t head_bits = options->head_bits;
    if (head_bits != 0 && head_bits != 4 && head_bits != 8)
      return {Code::ERR_INVALID_ARGUMENT,
              format("head_bits: expected 4 or 8, or 0 for 8, found %u", head_bits)};
    EngineOptions o;
    o.n_threads = options->n_threads;
    o.isa = options->isa != nullptr ? options->isa : "";
    o.cpus = options->cpus != nullptr ? options->cpus : "";
    o.loading = static_cast<Loading>(loading);
    o.network = {static_cast<ops::Activations>(activations), options->context, options->kv == SPIKED_KV_F16,
                 options->memory == SPIKED_MEMORY_LOW, options->contract == SPIKED_CONTRACT_HYPHAE};
    o.head_bits = head_bits == 4 ? head::TableBits::k4 : head::TableBits::k8;
    o.prefix_cache_bytes = options->prefix_cache_bytes;
    o.ram_budget_bytes = options->ram_budget_bytes;
    auto engine = Engine::open(o);
    if (!engine.ok()) return engine.status();
    *out = new spiked_engine{engine.take()};
    return {};
  });
}

void spiked_engine_close(spiked_engine* engine) { delete engine; }
const char* spiked_engine_isa(const spiked_engine* engine) { return engine->engine->isa->name; }
uint32_t spiked_engine_threads(const spiked_engine* engine) { return engine->engine->pool->size(); }
const char* spiked_engine_cpus(const spiked_engine* engine) { return engine->engine->cpus.c_str(); }
spiked_status spiked_engine_own_thread(const spiked_engine* engine, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(engine, "engine"));
    return keep_to(pthread_self(), engine->engine->pool->placement().cpus);
  });
}
uint32_t spiked_engine_progress(const spiked_engine* engine) { return engine->engine->pool->regions(); }
int32_t spiked_engine_activations(const spiked_engine* engine) {
  return static_cast<int32_t>(engine->engine->network.activations);
}

void spiked_engine_get_memory(const spiked_engine* engine, spiked_memory* out) {
  const Ledger& ledger = *engine->engine->ledger;
  const auto used = ledger.used_bytes();
  const auto of = [&](Memory use) { return used[static_cast<size_t>(use)]; };
  *out = {ledger.budget_bytes(), of(Memory::kBase),    of(Memory::kWeights),    of(Memory::kCopies),
          of(Memory::kSessions), of(Memory::kScratch), of(Memory::kPrefixCache)};
}
