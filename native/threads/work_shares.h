#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads/partition.h"

namespace spiked {

/// Splits that may lie between two barriers.
inline constexpr unsigned kMaxSplits = 4;
/// Units that one split may have.
inline constexpr size_t kMaxUnits = (size_t{1} << 24) - 1;

/// What is left of every worker's share of the splits under way.
///
/// A worker takes from the front of its share, and when that is empty the back half of whatever share has most left. Each share is one word,
/// so that two takers cannot both get a unit, and carries the number of its split, so that it needs no reset between splits: a word of an older
/// split stands for a whole share. Which worker gets a unit is left to chance; that each unit is taken once is not.
class WorkShares {
 public:
  explicit WorkShares(unsigned size) : workers_(size) {}

  /// The number of worker `index`'s next split: all workers come to the same splits in the same order.
  uint16_t next_split(unsigned index) { return ++workers_[index].split; }

  /// The next units that worker `index` should do, into `out`; false when none is left.
  ///
  /// n            units of the split, at most kMaxUnits
  /// least, most  units taken at once: half of what is left, within these
  bool take(unsigned index, uint16_t split, size_t n, size_t least, size_t most, Range& out) {
    for (;;) {
      if (take_own(index, split, n, least, most, out)) return true;
      if (!steal(index, split, n, least)) return false;
    }
  }

 private:
  using Word = std::atomic<uint64_t>;
  struct alignas(64) Worker {
    Word words[kMaxSplits] = {};
    uint16_t split = 0;
  };

  // The split's number, begin and end, in 16, 24 and 24 bits.
  static uint64_t pack(uint16_t split, const Range& r) {
    return static_cast<uint64_t>(split) << 48 | static_cast<uint64_t>(r.begin) << 24 | r.end;
  }
  static bool of_split(uint64_t word, uint16_t split) { return word >> 48 == split; }
  static Range range_of(uint64_t word) { return {word >> 24 & kMaxUnits, word & kMaxUnits}; }

  Word& word(unsigned index, uint16_t split) { return workers_[index].words[split % kMaxSplits]; }
  Range left(uint64_t word, unsigned index, uint16_t split, size_t n) const {
    return of_split(word, split) ? range_of(word)
                                 : share(n, 1, index, static_cast<unsigned>(workers_.size()));
  }

  // Relaxed throughout: a word hands out numbers only; what the units read and write is ordered by the barriers around the split.
  bool take_own(unsigned index, uint16_t split, size_t n, size_t least, size_t most, Range& out) {
    Word& own = word(index, split);
    uint64_t old = own.load(std::memory_order_relaxed);
    for (;;) {
      const Range r = left(old, index, split, n);
      const size_t n_left = r.end - r.begin;
      const size_t taken = std::min(n_left, std::clamp(n_left / 2, least, most));
      // An empty share is written too: its word must not be taken for a whole share after many splits.
      if (own.compare_exchange_weak(old, pack(split, {r.begin + taken, r.end}), std::memory_order_relaxed)) {
        out = {r.begin, r.begin + taken};
        return taken != 0;
      }
    }
  }

  // Moves the back of the largest share to this worker's, which is empty; false when all are.
  bool steal(unsigned index, uint16_t split, size_t n, size_t least) {
    const auto size = static_cast<unsigned>(workers_.size());
    for (;;) {
      unsigned victim = index;
      uint64_t old = 0;
      Range most{0, 0};
      for (unsigned i = 0; i < size; ++i) {
        if (i == index) continue;
        const uint64_t seen = word(i, split).load(std::memory_order_relaxed);
        const Range r = left(seen, i, split, n);
        if (r.end - r.begin > most.end - most.begin) {
          victim = i;
          old = seen;
          most = r;
        }
      }
      if (victim == index) return false;
      const size_t n_left = most.end - most.begin;
      const size_t middle = most.end - std::min(n_left, std::max(least, (n_left + 1) / 2));
      if (!word(victim, split)
               .compare_exchange_strong(old, pack(split, {most.begin, middle}), std::memory_order_relaxed))
        continue;
      word(index, split).store(pack(split, {middle, most.end}), std::memory_order_relaxed);
      return true;
    }
  }

  std::vector<Worker> workers_;
};

}  // namespace spiked
