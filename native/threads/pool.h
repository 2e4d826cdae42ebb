#pragma once
#include <cstddef>
#include <memory>

#include "base/status.h"
#include "threads/placement.h"
#include "threads/work_shares.h"

namespace spiked {

class Pool;

/// One worker's view of a parallel region. All workers of a region run the same code and meet at barriers.
class Team {
 public:
  Team(Pool& pool, WorkShares& shares, unsigned index, unsigned size)
      : pool_(pool), shares_(shares), index_(index), size_(size) {}
  unsigned index() const { return index_; }
  unsigned size() const { return size_; }
  /// Returns when every worker of the region has arrived; what they wrote before is visible after.
  void barrier();

  /// Calls body(range) for ranges that cover [0, n) once, whichever workers they fall to: each begins with a contiguous share of its own and
  /// helps the others when that is done, so that a slow or disturbed core does less. Returns when nothing is left to take; others may still be
  /// at theirs until the next barrier.
  ///
  /// Every worker of the region must call it, with the same n (<= kMaxUnits), and at most kMaxSplits times between two barriers. Results must
  /// not depend on who does what. A team of one does all in one call.
  ///
  /// least, most  units of one call; half of what is left of the share, within these
  template <typename F>
  void split(size_t n, size_t least, size_t most, F&& body) {
    if (size_ == 1) {
      if (n != 0) body(Range{0, n});
      return;
    }
    const uint16_t number = shares_.next_split(index_);
    for (Range r; shares_.take(index_, number, n, least, most, r);) body(r);
  }

 private:
  Pool& pool_;
  WorkShares& shares_;
  unsigned index_, size_;
};

/// Persistent worker threads. The calling thread is worker 0; a pool of one never starts a thread.
/// Waiting spins briefly, then sleeps: an idle pool uses no CPU. One region at a time; run() is not reentrant.
class Pool {
 public:
  /// Errors: ERR_INVALID_ARGUMENT when there are not 1 to 256 workers, or the system refuses the CPUs; ERR_NO_MEMORY when a thread cannot start.
  static Result<std::unique_ptr<Pool>> open(const Placement& placement);
  /// The fastest CPUs, as place() finds them.
  static Result<std::unique_ptr<Pool>> open(unsigned n_threads);
  ~Pool();
  unsigned size() const;
  /// Counts regions as they begin (and wraps): it moves while anything is computed. Safe from any thread.
  uint32_t regions() const;
  /// Where the workers are. The calling thread is left alone: keep_to() is for whoever owns it.
  const Placement& placement() const;

  /// Runs body(team) on every worker and returns when all are done. body must not throw.
  template <typename F>
  void run(F&& body) {
    run_raw([](void* f, Team& team) { (*static_cast<std::remove_reference_t<F>*>(f))(team); }, &body);
  }

 private:
  friend class Team;
  struct Impl;
  explicit Pool(std::unique_ptr<Impl> impl);
  void run_raw(void (*body)(void*, Team&), void* context);
  std::unique_ptr<Impl> impl_;
};

}  // namespace spiked
