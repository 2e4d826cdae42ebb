#include "session/engine.h"

#include <cstdlib>

namespace spiked {

Result<std::shared_ptr<Engine>> Engine::open(const EngineOptions& options) {
  std::string name = options.isa;
  if (name.empty()) {
    const char* forced = std::getenv("SPIKED_FORCE_ISA");
    if (forced != nullptr) name = forced;
  }
  auto selected = kernels::select(name);
  if (!selected.ok()) return selected.status();
  auto placement = place(options.n_threads, options.cpus, read_speeds(allowed_cpus()));
  if (!placement.ok()) return placement.status();
  auto pool = Pool::open(placement.value());
  if (!pool.ok()) return pool.status();
  const std::vector<unsigned>& cpus = placement.value().cpus;
  return std::make_shared<Engine>(Engine{selected.value(), pool.take(), options.activations, options.loading,
                                         cpus.empty() ? "none" : format_cpus(cpus),
                                         options.prefix_cache_bytes});
}

}  // namespace spiked
