#pragma once
#include <pthread.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/topology.h"

namespace spiked {

/// How many workers, and the CPUs that all of them keep to.
///
/// They share the CPUs instead of having one each: a worker whose CPU another process takes can then move (docs/experiments.md).
struct Placement {
  unsigned n_threads = 1;
  std::vector<unsigned> cpus;  ///< ascending; empty: wherever the system puts them
};

/// n_threads  0: one for each CPU of `cpus`
/// cpus       a list ("4-7"); empty: the big cores, and where more threads are wanted the next fastest, too; "none": the same number of
///            threads, left to the system
/// allowed    what the process may use, with speeds
///
/// Errors: ERR_INVALID_ARGUMENT when the list is none, names a CPU that is not allowed, or n_threads is above 256.
Result<Placement> place(unsigned n_threads, std::string_view cpus, const std::vector<Cpu>& allowed);

/// Keeps a thread to these CPUs; to none in particular when they are empty. Errors: ERR_INVALID_ARGUMENT when the system refuses.
Status keep_to(pthread_t thread, const std::vector<unsigned>& cpus);

}  // namespace spiked
