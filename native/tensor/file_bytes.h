#pragma once
#include <time.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ledger.h"
#include "base/status.h"
#include "tensor/watched_range.h"

namespace spiked {

/// How a file's bytes come into memory.
enum class Loading : int32_t {
  kReadahead = 0,  ///< mapped; whoever touches a page waits for it and for some MB more
  kPrefault = 1,   ///< as kReadahead, read and entered into the page table before open returns
  kHugePages = 2,  ///< copied into memory of its own, of huge pages where the kernel gives them
  kLocked = 3,     ///< as kPrefault, and the kernel may not drop the pages
  kOnDemand = 4    ///< mapped; pages are read when they are touched
};

/// Part of a file, [begin, end).
struct FilePart {
  uint64_t begin, end;
};

/// A regular file's bytes, read-only, at a page boundary; given back at the end.
class FileBytes {
 public:
  FileBytes() = default;
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept { *this = std::move(other); }
  FileBytes& operator=(FileBytes&& other) noexcept;

  /// Maps the file. Errors: ERR_FILE_NOT_FOUND, ERR_FILE_IO.
  static Result<FileBytes> map(const std::string& path);

  /// Brings the bytes into memory as told, if the ledger (null: none) has room for them.
  ///
  /// unread  in order, without overlaps: parts that nobody is going to read through data() for long; they stay mapped and are not counted
  /// Errors: ERR_RAM_BUDGET; ERR_NO_MEMORY when a copy does not fit what the machine has available, or the process may not lock so much;
  /// ERR_FILE_IO when the file shrank meanwhile.
  Status load(Loading loading, const std::string& path, Ledger* ledger = nullptr,
              std::span<const FilePart> unread = {});

  /// Bytes [offset, offset + n_bytes) of a mapped file into out, past the mapping. Errors, without the file's name: ERR_FILE_IO,
  /// ERR_MODEL_FILE_CHANGED when it became shorter.
  Status read_at(uint64_t offset, size_t n_bytes, void* out) const;
  /// Takes these bytes of a mapped file out of memory; whoever reads them again waits for the disk.
  void drop(const FilePart& part) const;

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Whether a file of which a part is mapped was written to, cut or became unreadable since: what was read before may be anything. A whole
  /// copy never changes.
  /// True once is true for good. Any thread; a system call of some hundred nanoseconds.
  bool changed() const;

 private:
  Status copy(const std::vector<FilePart>& parts, const std::string& path);
  Status copy(const FilePart& part, const std::string& path);
  Status lock(const FilePart& part, const std::string& path) const;
  Status prefault(const FilePart& part, const std::string& path) const;
  /// What is left of the file, in whole pages (but for the end).
  std::vector<FilePart> read_parts(std::span<const FilePart> unread) const;
  void forget_file();
  void close();

  Reservation reserved_;
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  WatchedRange range_;
  int fd_ = -1;  // as long as a part of the file is mapped
  timespec written_{};
};

/// Bytes that the machine can give without swapping; the largest number when nobody says. `meminfo` is /proc/meminfo or a made-up one.
uint64_t available_memory_bytes(const std::string& meminfo = "/proc/meminfo");

}  // namespace spiked
