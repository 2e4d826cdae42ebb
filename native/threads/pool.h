#pragma once
#include <cstddef>
#include <memory>

#include "base/status.h"

namespace spiked {

class Pool;

/// One worker's view of a parallel region. All workers of a region run the same code and meet at barriers.
class Team {
 public:
  Team(Pool& pool, unsigned index, unsigned size) : pool_(pool), index_(index), size_(size) {}
  unsigned index() const { return index_; }
  unsigned size() const { return size_; }
  /// Returns when every worker of the region has arrived; what they wrote before is visible after.
  void barrier();

 private:
  Pool& pool_;
  unsigned index_, size_;
};

/// Persistent worker threads. The calling thread is worker 0; a pool of one never starts a thread.
/// Waiting spins briefly, then sleeps: an idle pool uses no CPU. One region at a time; run() is not reentrant.
class Pool {
 public:
  /// Errors: ERR_INVALID_ARGUMENT when n_threads is not in [1, 256]; ERR_NO_MEMORY when a thread cannot start.
  static Result<std::unique_ptr<Pool>> open(unsigned n_threads);
  ~Pool();
  unsigned size() const;

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
