#pragma once
#include <memory>
#include <string>

#include "base/status.h"
#include "kernels/dispatch.h"
#include "ops/linear.h"
#include "threads/pool.h"

namespace spiked {

/// An instruction set and worker threads; shared by every model and session that compute with them.
struct Engine {
  const kernels::Isa* isa;
  std::unique_ptr<Pool> pool;
  ops::Activations activations;  ///< of the blocks' dense products; the full head always takes f32

  /// isa: a name, or empty for SPIKED_FORCE_ISA, or the best this CPU has.
  /// Errors: ERR_ISA_UNSUPPORTED, ERR_INVALID_ARGUMENT, ERR_NO_MEMORY.
  static Result<std::shared_ptr<Engine>> open(unsigned n_threads, const std::string& isa,
                                              ops::Activations activations);
};

}  // namespace spiked
