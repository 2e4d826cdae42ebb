#pragma once
#include <cstddef>
#include <cstdint>

namespace spiked {

/// The process's resident set; 0 when nobody says.
uint64_t process_resident_bytes();

/// What a part of the address space holds of memory.
struct MappedUse {
  uint64_t resident_bytes = 0;  ///< in this process's page table, so part of its resident set
  uint64_t locked_bytes = 0;
};

/// Of a mapped file. From /proc/self/smaps: mincore() calls every page of a file resident that the process could not write to.
/// Takes milliseconds. Zeros when nobody says.
MappedUse mapped_use(const void* begin, size_t size_bytes);

}  // namespace spiked
