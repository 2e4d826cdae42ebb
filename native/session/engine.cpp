#include "session/engine.h"

#include <cstdlib>

#include "base/process_memory.h"

namespace spiked {

Result<std::shared_ptr<Engine>> Engine::open(const EngineOptions& options) {
  std::string name = options.isa;
  if (name.empty()) {
    const char* forced = std::getenv("SPIKED_FORCE_ISA");
    if (forced != nullptr) name = forced;
  }
  auto selected = kernels::select(name);
  if (!selected.ok()) return selected.status();
  auto ledger = std::make_shared<Ledger>(options.ram_budget_bytes);
  auto base = ledger->reserve(Memory::kBase, process_resident_bytes(), "the process before any model");
  if (!base.ok()) return base.status();
  auto placement = place(options.n_threads, options.cpus, read_speeds(allowed_cpus()));
  if (!placement.ok()) return placement.status();
  auto pool = Pool::open(placement.value());
  if (!pool.ok()) return pool.status();
  const std::vector<unsigned>& cpus = placement.value().cpus;
  return std::make_shared<Engine>(Engine{selected.value(), pool.take(), options.loading, options.network,
                                         cpus.empty() ? "none" : format_cpus(cpus),
                                         options.prefix_cache_bytes, options.head_bits, std::move(ledger),
                                         base.take()});
}

}  // namespace spiked
