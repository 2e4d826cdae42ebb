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

#include "base/aligned.h"
#include "base/huge_pages.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace spiked {
namespace {

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

void FileBytes::forget_file() {
  range_.end();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void FileBytes::close() {
  forget_file();
  if (data_ != nullptr) munmap(data_, size_);
  data_ = nullptr;
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
  if (loading == Loading::kHugePages) {
    SPIKED_TRY(copy(parts, path));
    if (unread.empty()) forget_file();
    return {};
  }
  if (loading == Loading::kOnDemand) return {};
  // MADV_WILLNEED would read no more of a part than the device's read-ahead, and in small pages.
  for (const FilePart& part : parts) {
    prefer_huge_pages(data_ + part.begin, part.end - part.begin);
    if (loading == Loading::kPrefault) SPIKED_TRY(prefault(part, path));
    if (loading == Loading::kLocked) SPIKED_TRY(lock(part, path));
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

Status FileBytes::copy(const std::vector<FilePart>& parts, const std::string& path) {
  // Memory is promised freely and missed later, when it is written: so ask first.
  uint64_t wanted = 0;
  for (const FilePart& part : parts) wanted += part.end - part.begin;
  const uint64_t available = available_memory_bytes();
  if (wanted > available)
    return {
        Code::ERR_NO_MEMORY,
        format("%s: a copy in huge pages: expected %llu bytes of memory available, found %llu", path.c_str(),
               static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(available))};
  for (const FilePart& part : parts) SPIKED_TRY(copy(part, path));
  return {};
}

Status FileBytes::copy(const FilePart& part, const std::string& path) {
  uint8_t* to = data_ + part.begin;
  const size_t room = round_up(part.end - part.begin, page_bytes());
  if (mmap(to, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    return {Code::ERR_NO_MEMORY, format("%s: a copy in huge pages: expected %zu bytes, found: %s",
                                        path.c_str(), room, std::strerror(errno))};
  prefer_huge_pages(to, room);
  // Read, not copied from the mapping: its pages would count as resident, too.
  for (uint64_t at = part.begin; at < part.end;) {
    const ssize_t n = pread(fd_, data_ + at, part.end - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "reading failed", errno);
    if (n == 0)
      return {Code::ERR_FILE_IO,
              format("%s: expected %llu bytes, found the end after %llu", path.c_str(),
                     static_cast<unsigned long long>(size_), static_cast<unsigned long long>(at))};
    at += static_cast<uint64_t>(n);
  }
  mprotect(to, room, PROT_READ);
  return {};
}

}  // namespace spiked
