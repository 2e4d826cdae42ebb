#pragma once
#include <memory>
#include <string>

#include "base/ledger.h"
#include "base/status.h"
#include "head/coarse.h"
#include "kernels/dispatch.h"
#include "models/network.h"
#include "ops/linear.h"
#include "tensor/file_bytes.h"
#include "threads/pool.h"

namespace spiked {

/// What an engine is made of; the defaults fit.
struct EngineOptions {
  unsigned n_threads = 0;  ///< 0: as many as `cpus` names, or as there are big cores
  std::string isa;         ///< a name; empty: SPIKED_FORCE_ISA, or the best this CPU has
  std::string cpus;        ///< of the workers, as place() takes them
  Loading loading = Loading::kReadahead;
  NetworkOptions network;         ///< of its models; the full head always takes f32 activations
  size_t prefix_cache_bytes = 0;  ///< of each model (session/prefix_cache.h); 0: none
  head::TableBits head_bits = head::TableBits::k8;  ///< of a first pass's tables over F16 output weights
  uint64_t ram_budget_bytes = 0;  ///< of the process, once this engine is part of it; 0: no end
};

/// An instruction set and worker threads; shared by every model and session that compute with them.
struct Engine {
  const kernels::Isa* isa;
  std::unique_ptr<Pool> pool;
  Loading loading;                 ///< of its models' files
  NetworkOptions network;          ///< of its models; the full head always takes f32 activations
  std::string cpus;                ///< those that the workers keep to, or "none"
  size_t prefix_cache_bytes;       ///< of each model
  head::TableBits head_bits;       ///< of its models with F16 output weights
  std::shared_ptr<Ledger> ledger;  ///< of its models and sessions
  Reservation base;                ///< what the process held before them

  /// Errors: ERR_ISA_UNSUPPORTED, ERR_INVALID_ARGUMENT, ERR_NO_MEMORY, ERR_RAM_BUDGET.
  static Result<std::shared_ptr<Engine>> open(const EngineOptions& options);
};

}  // namespace spiked
