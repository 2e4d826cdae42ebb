#include "base/process_memory.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace spiked {

uint64_t process_resident_bytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  in >> size >> resident;
  return in ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

MappedUse mapped_use(const void* data, size_t size_bytes) {
  const auto from = reinterpret_cast<uintptr_t>(data), to = from + size_bytes;
  std::ifstream in("/proc/self/smaps");
  MappedUse out;
  bool ours = false;
  uint64_t resident_bytes = 0;  // of the area that is being read
  for (std::string line; std::getline(in, line);) {
    uint64_t begin = 0, end = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2)
      ours = begin >= from && begin < to;
    else if (ours && std::sscanf(line.c_str(), "Rss: %" SCNu64 " kB", &kib) == 1)
      out.resident_bytes += resident_bytes = kib << 10;
    // "Locked:" counts a page that two processes map as half of one.
    else if (ours && line.starts_with("VmFlags:") && line.find(" lo") != std::string::npos)
      out.locked_bytes += resident_bytes;
  }
  return out;
}

}  // namespace spiked
