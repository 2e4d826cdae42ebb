#pragma once
#include <cstdint>

#include "base/status.h"
#include "kernels/dispatch.h"

namespace spiked::kernels {

/// One line of the self-test: a kernel (or "planted_faults"), how many cases ran and failed, and the first failure.
using SelfTestReport = void (*)(void* user, const char* kernel, uint64_t cases, uint64_t failures,
                                const char* detail);

/// Runs every kernel of `isa` against scalar over sizes around the tiles, misaligned starts, allowed aliasing and extreme
/// values, bit by bit, with guard bytes around each output; then shows that the same sweeps catch, in every kernel,
/// one wrong bit and one element written past the end.
///
/// seed     of the inputs; a failure repeats with it
/// report   called once a kernel and once for the planted faults, in the order of list.def; may be null
///
/// Errors: ERR_ISA_UNSUPPORTED when this build or CPU lacks `isa`; ERR_CHECK_FAILED when a kernel differs or a planted fault passes.
/// Under five seconds on a desktop core; allocates.
Status self_test(const Isa& isa, uint64_t seed, SelfTestReport report, void* user);

}  // namespace spiked::kernels
