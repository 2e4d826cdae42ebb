#include "session/engine.h"

#include <cstdlib>

namespace spiked {

Result<std::shared_ptr<Engine>> Engine::open(unsigned n_threads, const std::string& isa,
                                             ops::Activations activations) {
  std::string name = isa;
  if (name.empty()) {
    const char* forced = std::getenv("SPIKED_FORCE_ISA");
    if (forced != nullptr) name = forced;
  }
  auto selected = kernels::select(name);
  if (!selected.ok()) return selected.status();
  auto pool = Pool::open(n_threads);
  if (!pool.ok()) return pool.status();
  return std::make_shared<Engine>(Engine{selected.value(), pool.take(), activations});
}

}  // namespace spiked
