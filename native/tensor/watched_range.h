#pragma once
#include <cstddef>
#include <utility>

#include "base/status.h"

namespace spiked {

struct WatchedEntry;

/// Memory mapped from a file, known to the handler of SIGBUS while this lives.
///
/// A file that shrank has no bytes for its last pages, a card that fails gives none: whoever reads them gets SIGBUS, which ends the
/// process. With the handler the whole range reads as zeros from then on, and lost() says so before anybody can read one.
class WatchedRange {
 public:
  WatchedRange() = default;
  /// begin  of a page. Throws std::bad_alloc.
  WatchedRange(const void* begin, size_t size_bytes);
  ~WatchedRange() { end(); }
  WatchedRange(WatchedRange&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  WatchedRange& operator=(WatchedRange&& other) noexcept;

  /// Any thread.
  bool lost() const;
  /// Makes lost() true for good. Any thread.
  void lose() const;
  /// Before the memory is unmapped.
  void end();

 private:
  WatchedEntry* entry_ = nullptr;
};

/// Installs the handler, once a process; a SIGBUS elsewhere goes to the handler that was there before.
/// Errors: ERR_INTERNAL when the system refuses.
Status catch_lost_pages();

}  // namespace spiked
