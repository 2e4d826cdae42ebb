#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"

namespace spiked {

/// Keys and values of one layer: the first n_anchors positions, and a ring of the latest ones. A query at t sees
/// j <= t with t - j <= window or j < n_anchors, and only positions whose layer input had a spike.
///
/// A head's keys lie together, and so do its values: attention reads them one head after the other, as long runs of memory.
class KvWindow {
 public:
  /// max_batch: positions that may be written before the oldest of them attends.
  KvWindow(size_t n_heads, size_t head_dim, size_t window, size_t n_anchors, size_t max_batch);

  size_t slot(size_t pos) const { return pos < n_anchors_ ? pos : n_anchors_ + (pos - n_anchors_) % ring_; }
  /// Of one head: slot s at keys(head) + s * stride().
  float* keys(size_t head) { return keys_.data() + head * spiked_.size() * stride_; }
  float* values(size_t head) { return values_.data() + head * spiked_.size() * stride_; }
  size_t stride() const { return stride_; }

  /// Says whether position pos, which is about to be written, had a spike. A position without one needs no key.
  void mark(size_t pos, bool spiked) { spiked_[slot(pos)] = spiked ? 1 : 0; }

  /// Slots of the keys that query position t sees, in position order; slots has room for max_visible().
  size_t visible(size_t t, uint32_t* slots) const;
  size_t max_visible() const { return n_anchors_ + window_ + 1; }

  /// Positions kept once `n` have been fed: anchors and the last window + 1, ascending.
  std::vector<int32_t> kept(size_t n) const;
  size_t size_bytes() const { return (keys_.size() + values_.size()) * sizeof(float) + spiked_.size(); }

 private:
  size_t stride_, window_, n_anchors_, ring_;
  AlignedArray<float> keys_,
      values_;  // [n_heads, n_anchors + ring, stride]; pages not reached yet are not resident
  AlignedArray<uint8_t> spiked_;  // [n_anchors + ring]
};

}  // namespace spiked
