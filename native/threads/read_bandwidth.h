#pragma once
#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace spiked {

/// Read bandwidth in GB/s (1e9 bytes): the median over `rounds` passes in which `n_threads` threads, each pinned to a CPU of its
/// own, the fastest first, read `size_bytes` of freshly written memory once, in equal contiguous shares.
///
/// size_bytes  should be many times the last cache; rounded down to whole 256-byte steps per thread
///
/// Errors: ERR_INVALID_ARGUMENT when n_threads is not in [1, CPUs this process may use], rounds not in [1, 1000], or a thread
/// would read less than 1 MiB; ERR_NO_MEMORY.
/// Blocks; allocates size_bytes and frees it.
Result<double> read_bandwidth_gb_s(unsigned n_threads, size_t size_bytes, unsigned rounds);

/// The plain read that it times: the exclusive or of all words of whole 256-byte steps, aligned 64.
uint64_t read_words(const void* data, size_t size_bytes);

}  // namespace spiked
