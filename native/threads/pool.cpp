#include "threads/pool.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace spiked {
namespace {

constexpr unsigned kMaxThreads = 256;
/// Longer than the gap between two regions of one step, shorter than any human sees. Longer waits are spent asleep: whoever is waited for has
/// lost its CPU to another process, and may need this one (docs/experiments.md).
constexpr uint64_t kSpin_ns = 50'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on cores without a second hardware thread
#endif
}

/// Returns when `word` no longer holds `old`: spins, then sleeps in the kernel.
void await_change(const std::atomic<uint32_t>& word, uint32_t old, uint64_t spin_ns) {
  if (spin_ns != 0) {
    Clock clock(true);
    for (uint64_t spun_ns = 0; spun_ns < spin_ns; spun_ns += clock.lap())
      for (int i = 0; i < 64; ++i) {
        if (word.load(std::memory_order_acquire) != old) return;
        relax();
      }
  }
  word.wait(old, std::memory_order_acquire);
}

}  // namespace

struct Pool::Impl {
  explicit Impl(const Placement& p) : placement(p), n_threads(p.n_threads), shares(p.n_threads) {
    // With more workers than CPUs a spinning one keeps from its CPU the one it waits for.
    const size_t n_cpus = p.cpus.empty() ? std::thread::hardware_concurrency() : p.cpus.size();
    spin_ns = n_threads <= n_cpus ? kSpin_ns : 0;
  }

  void work(Pool& pool, unsigned index) {
    for (uint32_t seen = 0;;) {
      await_change(region, seen, spin_ns);
      // Regions follow one another strictly, so a worker that lags sees each of them once.
      seen = region.load(std::memory_order_acquire);
      if (body == nullptr) return;
      Team team(pool, shares, index, n_threads);
      body(context, team);
      barrier();
    }
  }

  void barrier() {
    if (n_threads == 1) return;
    const uint32_t phase = phases.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads) {
      arrived.store(0, std::memory_order_relaxed);
      phases.store(phase + 1, std::memory_order_release);
      phases.notify_all();
    } else {
      await_change(phases, phase, spin_ns);
    }
  }

  void start_region(void (*new_body)(void*, Team&), void* new_context) {
    body = new_body;
    context = new_context;
    region.fetch_add(1, std::memory_order_release);
    region.notify_all();
  }

  Placement placement;
  unsigned n_threads;
  uint64_t spin_ns;
  WorkShares shares;
  // Each word that one side spins on has a cache line of its own.
  alignas(64) std::atomic<uint32_t> region{0};
  void (*body)(void*, Team&) = nullptr;
  void* context = nullptr;
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> phases{0};
  std::vector<std::thread> threads;
};

void Team::barrier() { pool_.impl_->barrier(); }

Pool::Pool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Pool>> Pool::open(unsigned n_threads) {
  if (n_threads == 0) return open(Placement{0, {}});
  auto placement = place(n_threads, "", read_speeds(allowed_cpus()));
  if (!placement.ok()) return placement.status();
  return open(placement.value());
}

Result<std::unique_ptr<Pool>> Pool::open(const Placement& placement) {
  const unsigned n_threads = placement.n_threads;
  if (n_threads < 1 || n_threads > kMaxThreads) {
    return Status(Code::ERR_INVALID_ARGUMENT,
                  format("thread count: expected 1 to %u, found %u", kMaxThreads, n_threads));
  }
  std::unique_ptr<Pool> pool(new Pool(std::make_unique<Impl>(placement)));
  pool->impl_->threads.reserve(n_threads - 1);
  for (unsigned i = 1; i < n_threads; ++i) {
    try {
      pool->impl_->threads.emplace_back([p = pool.get(), i] { p->impl_->work(*p, i); });
    } catch (const std::system_error& e) {
      return Status(Code::ERR_NO_MEMORY,
                    format("thread pool: expected %u threads, could start %u: %s", n_threads, i, e.what()));
    }
    SPIKED_TRY(keep_to(pool->impl_->threads.back().native_handle(), placement.cpus));
  }
  return pool;
}

Pool::~Pool() {
  impl_->start_region(nullptr, nullptr);
  for (std::thread& t : impl_->threads) t.join();
}

unsigned Pool::size() const { return impl_->n_threads; }
uint32_t Pool::regions() const { return impl_->region.load(std::memory_order_relaxed); }
const Placement& Pool::placement() const { return impl_->placement; }

void Pool::run_raw(void (*body)(void*, Team&), void* context) {
  Team team(*this, impl_->shares, 0, impl_->n_threads);
  if (impl_->n_threads == 1) {
    impl_->region.fetch_add(1, std::memory_order_relaxed);  // for regions() alone
    body(context, team);
    return;
  }
  impl_->start_region(body, context);
  body(context, team);
  impl_->barrier();
}

}  // namespace spiked
