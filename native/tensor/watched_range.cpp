#include "tensor/watched_range.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace spiked {

/// Lives as long as the process, since the handler may look at any time; serves one range after the other.
struct WatchedEntry {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};  // 0 while it serves none
  std::atomic<bool> lost{false};
  WatchedEntry* next = nullptr;
};

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// The only state of the process that is nobody's: a signal has no other way to what it needs.
std::mutex mutex;                            // of those who take entries; the handler does without
std::atomic<WatchedEntry*> first = nullptr;  // entries are added and never removed
bool installed = false;                      // under the mutex
struct sigaction before {};                  // set before the handler stands
uintptr_t page_bytes = 0;                    // likewise

WatchedEntry* take(uintptr_t begin, uintptr_t end) {
  const std::lock_guard lock(mutex);
  WatchedEntry* entry = first;
  while (entry != nullptr && entry->end != 0) entry = entry->next;
  if (entry == nullptr) {
    entry = new WatchedEntry;
    entry->next = first;
    first = entry;
  }
  entry->lost = false;
  entry->begin = begin;
  entry->end = end;
  return entry;
}

// Other entries may change meanwhile. What is taken for one's range was its range at some time, as its end stayed; and no range that lives
// while the caller's does can hold the caller's address.
WatchedEntry* find(uintptr_t address) {
  for (WatchedEntry* entry = first; entry != nullptr; entry = entry->next) {
    const uintptr_t end = entry->end, begin = entry->begin;
    if (address >= begin && address < end && entry->end == end) return entry;
  }
  return nullptr;
}

// All of it at once: a page at a time, a large file would take more mappings than a process may have.
bool read_as_zeros(WatchedEntry& entry) {
  entry.lost = true;
  const uintptr_t begin = entry.begin, end = (entry.end + page_bytes - 1) / page_bytes * page_bytes;
  // The bare call: a sanitizer takes the function for a write to all of the range, in a race with every reader.
  return syscall(SYS_mmap, begin, end - begin, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != -1;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
    // The faulting read is tried again on return and ends the process as it would have; a signal that somebody sent has to be sent again.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) raise(signal);
  }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  WatchedEntry* entry = info->si_code > 0 ? find(reinterpret_cast<uintptr_t>(info->si_addr))
                                          : nullptr;  // not one that was sent
  if (entry == nullptr || !read_as_zeros(*entry)) pass_on(signal, info, context);
  errno = error;
}

}  // namespace

WatchedRange::WatchedRange(const void* begin, size_t size_bytes)
    : entry_(take(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + size_bytes)) {}

WatchedRange& WatchedRange::operator=(WatchedRange&& other) noexcept {
  if (this == &other) return *this;
  end();
  entry_ = std::exchange(other.entry_, nullptr);
  return *this;
}

void WatchedRange::end() {
  if (entry_ != nullptr) entry_->end = 0;
  entry_ = nullptr;
}

bool WatchedRange::lost() const { return entry_ != nullptr && entry_->lost; }

void WatchedRange::lose() const {
  if (entry_ != nullptr) entry_->lost = true;
}

Status catch_lost_pages() {
  const std::lock_guard lock(mutex);
  if (installed) return {};
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (sigaction(SIGBUS, nullptr, &before) != 0 || sigaction(SIGBUS, &action, nullptr) != 0)
    return {Code::ERR_INTERNAL, std::string("the handler of SIGBUS: ") + std::strerror(errno)};
  installed = true;
  return {};
}

}  // namespace spiked
