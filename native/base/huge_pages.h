#pragma once
#include <cstddef>

namespace spiked {

/// Asks for huge pages behind whole pages of [data, data + size_bytes): fewer entries to look up, and fewer to set again after the kernel
/// looked which pages are in use. A wish: a kernel without them gives small pages, and nothing else changes.
void prefer_huge_pages(const void* data, size_t size_bytes);

}  // namespace spiked
