#include "tensor/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace spiked {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

Status io_error(const std::string& path, const char* what, int error) {
  return {Code::ERR_FILE_IO, path + ": " + what + ": " + std::strerror(error)};
}

// Kernels before 5.14 cannot populate: touching every page does the same, a page fault at a time.
void touch(const uint8_t* data, uint64_t size) {
  for (uint64_t i = 0; i < size; i += page_bytes())
    static_cast<void>(static_cast<const volatile uint8_t*>(data)[i]);
}

}  // namespace

uint64_t available_memory_bytes(const std::string& meminfo) {
  std::ifstream in(meminfo);
  std::string name, unit;
  for (uint64_t kib = 0; in >> name >> kib; std::getline(in, unit))
    if (name == "MemAvailable:") return kib << 10;
  return UINT64_MAX;
}

FileBytes::~FileBytes() { close(); }

void FileBytes::close() {
  range_.end();
  if (data_ != nullptr) munmap(data_, size_);
  if (fd_ >= 0) ::close(fd_);
  data_ = nullptr;
  fd_ = -1;
}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  if (this == &other) return *this;
  close();
  reserved_ = std::move(other.reserved_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  range_ = std::move(other.range_);
  written_ = other.written_;
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

Result<FileBytes> FileBytes::map(const std::string& path) {
  FileBytes out;
  // Without O_NONBLOCK a pipe would hold the thread until somebody writes to it.
  out.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (out.fd_ < 0) {
    const int e = errno;
    const bool absent = e == ENOENT || e == ENOTDIR;
    return Status{absent ? Code::ERR_FILE_NOT_FOUND : Code::ERR_FILE_IO,
                  path + ": expected a readable file, found: " + std::strerror(e)};
  }
  struct stat st {};
  if (fstat(out.fd_, &st) != 0 || !S_ISREG(st.st_mode))
    return Status{Code::ERR_FILE_IO, path + ": expected a regular file"};
  out.size_ = static_cast<uint64_t>(st.st_size);
  out.written_ = st.st_mtim;
  if (out.size_ == 0) return out;
  void* p = mmap(nullptr, out.size_, PROT_READ, MAP_SHARED, out.fd_, 0);
  if (p == MAP_FAILED) return io_error(path, "mapping failed", errno);
  out.data_ = static_cast<uint8_t*>(p);
  out.range_ = WatchedRange(p, out.size_);
  return out;
}

bool FileBytes::changed() const {
  if (fd_ < 0 || size_ == 0) return false;
  if (range_.lost()) return true;
  struct stat now {};
  if (fstat(fd_, &now) == 0 && static_cast<uint64_t>(now.st_size) == size_ &&
      now.st_mtim.tv_sec == written_.tv_sec && now.st_mtim.tv_nsec == written_.tv_nsec)
    return false;
  range_.lose();
  return true;
}

std::vector<FilePart> FileBytes::read_parts(std::span<const FilePart> unread) const {
  const uint64_t page = page_bytes();
  std::vector<FilePart> parts;
  uint64_t begin = 0;
  const auto up_to = [&](uint64_t end) {
    if (begin < end) parts.push_back({begin, end});
  };
  for (const FilePart& out : unread) {
    // Pages that hold something else, too, are read.
    const uint64_t first = (out.begin + page - 1) / page * page, last = out.end / page * page;
    if (first >= last) continue;
    up_to(first);
    begin = last;
  }
  up_to(size_);
  return parts;
}

Status FileBytes::read_at(uint64_t offset, size_t n_bytes, void* out) const {
  for (auto* to = static_cast<uint8_t*>(out); n_bytes != 0;) {
    const ssize_t n = pread(fd_, to, n_bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {Code::ERR_FILE_IO, std::strerror(errno)};
    if (n == 0) return {Code::ERR_MODEL_FILE_CHANGED, "the file became shorter"};
    to += n;
    offset += static_cast<uint64_t>(n);
    n_bytes -= static_cast<size_t>(n);
  }
  return {};
}

void FileBytes::drop(const FilePart& part) const {
  const uint64_t page = page_bytes();
  const uint64_t begin = (part.begin + page - 1) / page * page, end = part.end / page * page;
  if (fd_ >= 0 && begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

Status FileBytes::load(Loading loading, const std::string& path, Ledger* ledger,
                       std::span<const FilePart> unread) {
  const std::vector<FilePart> parts = read_parts(unread);
  if (ledger != nullptr) {
    const Memory use = loading == Loading::kHugePages ? Memory::kCopies : Memory::kWeights;
    uint64_t n_bytes = 0;
    for (const FilePart& part : parts) n_bytes += part.end - part.begin;
    auto reserved = ledger->reserve(use, n_bytes, path);
    if (!reserved.ok()) return reserved.status();
    reserved_ = reserved.take();
  }
  switch (loading) {
    case Loading::kReadahead:
      // A hint: what it cannot do, page faults will.
      for (const FilePart& part : parts) madvise(data_ + part.begin, part.end - part.begin, MADV_WILLNEED);
      break;
    case Loading::kPrefault:
      for (const FilePart& part : parts) SPIKED_TRY(prefault(part, path));
      break;
    case Loading::kHugePages:
      SPIKED_TRY(copy(path));
      break;
    case Loading::kLocked:
      for (const FilePart& part : parts) SPIKED_TRY(lock(part, path));
      break;
    case Loading::kOnDemand:
      break;
  }
  return {};
}

Status FileBytes::prefault(const FilePart& part, const std::string& path) const {
  uint8_t* begin = data_ + part.begin;
  const uint64_t n_bytes = part.end - part.begin;
  if (madvise(begin, n_bytes, MADV_POPULATE_READ) == 0) return {};
  if (errno != EINVAL) return io_error(path, "reading failed", errno);
  touch(begin, n_bytes);
  return {};
}

Status FileBytes::lock(const FilePart& part, const std::string& path) const {
  const uint64_t n_bytes = part.end - part.begin;
  if (mlock(data_ + part.begin, n_bytes) == 0) return {};
  const int error = errno;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= n_bytes)
    return {Code::ERR_NO_MEMORY, path + ": locking it in memory: " + std::strerror(error)};
  return {Code::ERR_NO_MEMORY,
          format("%s: locking it in memory: expected leave to lock %llu bytes, found %llu (RLIMIT_MEMLOCK: "
                 "LimitMEMLOCK= in a unit, ulimit -l in a shell)",
                 path.c_str(), static_cast<unsigned long long>(n_bytes),
                 static_cast<unsigned long long>(limit.rlim_cur))};
}

Status FileBytes::copy(const std::string& path) {
  // Memory is promised freely and missed later, when it is written: so ask first.
  const uint64_t available = available_memory_bytes();
  if (size_ > available)
    return {
        Code::ERR_NO_MEMORY,
        format("%s: a copy in huge pages: expected %llu bytes of memory available, found %llu", path.c_str(),
               static_cast<unsigned long long>(size_), static_cast<unsigned long long>(available))};
  // Room to begin at a huge page; what lies before and behind is given back.
  const size_t room = size_ + kHugePageBytes;
  void* p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return {Code::ERR_NO_MEMORY, format("%s: a copy in huge pages: expected %zu bytes, found: %s",
                                        path.c_str(), room, std::strerror(errno))};
  auto* begin = static_cast<uint8_t*>(p);
  auto* aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(begin) + kHugePageBytes - 1) /
                                             kHugePageBytes * kHugePageBytes);
  const size_t used = (size_ + page_bytes() - 1) / page_bytes() * page_bytes();
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  munmap(aligned + used, static_cast<size_t>(begin + room - (aligned + used)));
  madvise(aligned, used, MADV_HUGEPAGE);
  range_.end();
  munmap(data_, size_);
  data_ = aligned;
  // Read, not copied from the mapping: its pages would count as resident, too.
  for (uint64_t at = 0; at < size_;) {
    const ssize_t n = pread(fd_, data_ + at, size_ - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "reading failed", errno);
    if (n == 0)
      return {Code::ERR_FILE_IO,
              format("%s: expected %llu bytes, found the end after %llu", path.c_str(),
                     static_cast<unsigned long long>(size_), static_cast<unsigned long long>(at))};
    at += static_cast<uint64_t>(n);
  }
  mprotect(data_, used, PROT_READ);
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace spiked
