#pragma once
#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "models/network.h"

namespace spiked {

/// What sequences carried after prompts that a model has been fed before, so that what begins alike is computed once.
///
/// A tree: each chunk holds kMaxBatch ids and what the state gained by them, its parent what came before. The bits of a state depend on
/// its ids alone, so a sequence that takes chunks over goes on as if it had computed them. Beyond the budget the chunk that was not used
/// for longest goes. One thread computes at a time, so nothing guards the tree; chunks that a session took over outlive it.
class PrefixCache {
 public:
  static constexpr size_t kIds = kMaxBatch;

  struct Chunk {
    std::vector<int32_t> ids;          ///< [kIds]; none in the root
    std::unique_ptr<const Gain> gain;  ///< what the sequence gained by them
    std::vector<float> hidden;         ///< [D] the last one's hidden state
    Activity activity;                 ///< of their pass

   private:
    friend class PrefixCache;
    bool kept = false;  // in the tree; one that was dropped has no place for children
    Chunk* parent = nullptr;
    std::vector<std::shared_ptr<Chunk>> children;
    std::list<Chunk*>::iterator place;  // in order_
    size_t size_bytes = 0;
  };
  using Place = std::shared_ptr<Chunk>;

  explicit PrefixCache(size_t budget_bytes);

  /// Where a fresh sequence begins. Any thread.
  const Place& root() const { return root_; }
  /// The chunk with these kIds ids after `at`; null when there is none.
  Place find(const Place& at, const int32_t* ids);
  /// Keeps what a sequence gained by the kIds ids that it was fed last, after `at`; hidden f32 [dim]. Null when the budget, or memory, has no room.
  Place keep(const Place& at, const int32_t* ids, const Sequence& sequence, const float* hidden, size_t dim,
             const Activity& activity);

  /// Any thread.
  size_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  void touch(Chunk* chunk);
  void drop_oldest();

  size_t budget_bytes_;
  std::atomic<size_t> size_bytes_{0};
  Place root_;
  // Latest use first. A use of a chunk is one of its ancestors too, which come before it: the last one has no children.
  std::list<Chunk*> order_;
};

}  // namespace spiked
