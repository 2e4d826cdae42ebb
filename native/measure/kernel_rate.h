#pragma once
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "measure/rounds.h"

namespace spiked::measure {

/// What one kernel reaches, each quantity taken in turn with what it is compared to.
struct KernelRate {
  uint64_t bytes = 0;  ///< least that one run over the large weights has to read
  Spread gb_per_s,
      read_gb_per_s;  ///< 1e9 bytes; the kernel, and plain reads of the same memory just before and after
  Spread read_share;  ///< of each round
  uint64_t tokens = 0,
           macs = 0;  ///< of the batch over weights that fit a cache; 0 for a kernel without batches
  Spread gmac_per_s, peak_gmac_per_s;       ///< 1e9 multiply-adds; of the peak just before and after
  Spread peak_share;                        ///< of each round
  const char* peak_instructions = nullptr;  ///< null where no peak is known
};

/// The i-th kernel that can be measured; null past the end.
const char* measured_kernel(size_t i);

/// Measures a kernel over made-up weights of size_bytes: one token against plain reads of the same memory by the same threads, and a
/// batch over weights that fit a cache against the arithmetic peak. Seconds are those that each thread ran.
///
/// isa         "" is the best of this CPU
/// size_bytes  at least 1 MiB; many times the last cache to tell anything
///
/// Errors: ERR_ISA_UNSUPPORTED; ERR_INVALID_ARGUMENT (no such kernel, n_threads not in [1, 256], size_bytes, rounds not in [1, 1000]).
Result<KernelRate> kernel_rate(std::string_view isa, std::string_view kernel, unsigned n_threads,
                               size_t size_bytes, unsigned rounds);

}  // namespace spiked::measure
