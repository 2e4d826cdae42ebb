#include "threads/read_bandwidth.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "threads/pool.h"

namespace spiked {
namespace {

constexpr size_t kStepBytes = 256;
constexpr size_t kLeastBytes = size_t{1} << 20;
constexpr unsigned kMaxRounds = 1000;

/// Anonymous pages, given back at the end.
class Pages {
 public:
  explicit Pages(size_t size_bytes) : size_bytes_(size_bytes) {
    void* p = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = p == MAP_FAILED ? nullptr : static_cast<uint64_t*>(p);
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, size_bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint64_t* data() { return data_; }

 private:
  uint64_t* data_;
  size_t size_bytes_;
};

/// Pins the calling thread while it lives, then lets it go where it was allowed before.
class Pin {
 public:
  explicit Pin(unsigned cpu) : before_(allowed_cpus()) { found_ = keep_to(pthread_self(), {cpu}); }
  ~Pin() { found_ = keep_to(pthread_self(), before_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  std::vector<unsigned> before_;
  Status found_;  // a thread that cannot be pinned reads all the same
};

/// CPUs that the process may use, the fastest first.
std::vector<unsigned> fastest_cpus() {
  std::vector<Cpu> all = read_speeds(allowed_cpus());
  std::stable_sort(all.begin(), all.end(), [](const Cpu& a, const Cpu& b) { return a.speed > b.speed; });
  std::vector<unsigned> cpus;
  for (const Cpu& cpu : all) cpus.push_back(cpu.id);
  return cpus;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// Narrow registers suffice: two 16-byte loads a cycle are several times what a memory bus delivers.
uint64_t read_words(const void* data, size_t size_bytes) {
  typedef uint64_t Lanes __attribute__((vector_size(16)));
  const auto* p = static_cast<const Lanes*>(data);
  Lanes sums[8] = {};
  for (size_t n = size_bytes / kStepBytes; n > 0; --n, p += 16) {
    for (size_t i = 0; i < 8; ++i) sums[i] ^= p[i] ^ p[i + 8];
  }
  Lanes sum = sums[0];
  for (size_t i = 1; i < 8; ++i) sum ^= sums[i];
  return sum[0] ^ sum[1];
}

Result<double> read_bandwidth_gb_s(unsigned n_threads, size_t size_bytes, unsigned rounds) {
  const std::vector<unsigned> cpus = fastest_cpus();
  if (n_threads < 1 || n_threads > cpus.size()) {
    return Status(
        Code::ERR_INVALID_ARGUMENT,
        format("read bandwidth: thread count: expected 1 to %zu (CPUs this process may use), found %u",
               cpus.size(), n_threads));
  }
  if (rounds < 1 || rounds > kMaxRounds) {
    return Status(Code::ERR_INVALID_ARGUMENT,
                  format("read bandwidth: rounds: expected 1 to %u, found %u", kMaxRounds, rounds));
  }
  const size_t share_bytes = size_bytes / n_threads / kStepBytes * kStepBytes;
  if (share_bytes < kLeastBytes) {
    return Status(
        Code::ERR_INVALID_ARGUMENT,
        format("read bandwidth: expected at least %zu bytes a thread, found %zu bytes for %u threads",
               kLeastBytes, size_bytes, n_threads));
  }
  Pages pages(share_bytes * n_threads);
  if (pages.data() == nullptr) {
    return Status(Code::ERR_NO_MEMORY, format("read bandwidth: could not allocate %zu bytes", size_bytes));
  }
  auto opened = Pool::open(n_threads);
  if (!opened.ok()) return opened.status();
  const std::unique_ptr<Pool> pool = opened.take();

  std::vector<double> gb_s;
  std::atomic<uint64_t> sink{0};
  double begin_s = 0;
  pool->run([&](Team& team) {
    const Pin pin(cpus[team.index()]);
    uint64_t* own = pages.data() + team.index() * share_bytes / sizeof(uint64_t);
    // Written, so that the pages exist, and with varied words, so that nothing can share or compress them.
    uint64_t word = 0x9e3779b97f4a7c15u * (team.index() + 1);
    for (size_t i = 0; i < share_bytes / sizeof(uint64_t); ++i)
      own[i] = word = word * 6364136223846793005u + 1;
    for (unsigned round = 0; round < rounds; ++round) {
      team.barrier();
      if (team.index() == 0) begin_s = now_s();
      team.barrier();
      sink.fetch_xor(read_words(own, share_bytes), std::memory_order_relaxed);
      team.barrier();
      if (team.index() == 0) {
        gb_s.push_back(static_cast<double>(share_bytes * n_threads) / (now_s() - begin_s) / 1e9);
      }
    }
  });
  std::sort(gb_s.begin(), gb_s.end());
  return gb_s[gb_s.size() / 2];
}

}  // namespace spiked
