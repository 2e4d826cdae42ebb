#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"

namespace spiked {

/// Keys and values of all layers: the first n_anchors positions, and a ring of the latest ones. A query at t sees j <= t with
/// t - j <= window or j < n_anchors, and only positions whose layer input had a spike.
///
///   block of 16 positions:  | layer 0: keys of head 0 | values of head 0 | keys of head 1 ... | layer 1 ... |   then the next block
///
/// A head's 16 keys are one run of memory, and what a new position writes lies in few (huge) pages, first touched when a
/// sequence gets that far: 16 positions of a 0.8B model are 4.7 MB, in one piece, instead of a page fault for every head and layer.
class KvWindow {
 public:
  struct Shape {
    size_t n_layers, n_heads, head_dim, window, n_anchors;
    size_t max_batch;  ///< positions that may be written before the oldest of them attends
    bool f16 = false;  ///< elements are f16 instead of f32
  };

  KvWindow() = default;
  explicit KvWindow(const Shape& shape);

  bool empty() const { return rows_.size() == 0; }
  /// The row of position pos, to write: row r of a head's keys at keys(layer, head) + r * stride().
  size_t row(size_t pos) const { return row_of(slot(pos)); }
  float* keys(size_t layer, size_t head) { return reinterpret_cast<float*>(run(layer, 2 * head)); }
  float* values(size_t layer, size_t head) { return reinterpret_cast<float*>(run(layer, 2 * head + 1)); }
  /// The same of a window of f16 elements.
  uint16_t* keys_f16(size_t layer, size_t head) { return reinterpret_cast<uint16_t*>(run(layer, 2 * head)); }
  uint16_t* values_f16(size_t layer, size_t head) {
    return reinterpret_cast<uint16_t*>(run(layer, 2 * head + 1));
  }
  /// Elements between two rows.
  size_t stride() const { return stride_bytes_ / element_bytes(shape_); }

  /// Says whether position pos, which is about to be written, had a spike. A position without one needs no key.
  void mark(size_t layer, size_t pos, bool spiked) {
    spiked_[layer * n_slots() + slot(pos)] = spiked ? 1 : 0;
  }

  /// Rows of the keys that query position t sees, in position order; rows has room for max_visible().
  size_t visible(size_t layer, size_t t, uint32_t* rows) const;
  size_t max_visible() const { return shape_.n_anchors + shape_.window + 1; }

  /// Bytes and marks of n positions, as take() gives them.
  size_t taken_bytes(size_t n) const { return shape_.n_layers * runs() * n * stride_bytes_; }
  size_t taken_marks(size_t n) const { return shape_.n_layers * n; }
  /// Copies the keys, values and marks of positions [begin, begin + n), all of them still in the window, out of it; put() back in.
  ///
  /// out, in  [taken_bytes(n)]
  /// spiked   [taken_marks(n)]
  void take(size_t begin, size_t n, uint8_t* out, uint8_t* spiked) const;
  void put(size_t begin, size_t n, const uint8_t* in, const uint8_t* spiked);

  /// Becomes what `from`, of the same shape, is after n positions; touches no memory for positions to come.
  void copy(const KvWindow& from, size_t n);

  /// Positions kept once `n` have been fed: anchors and the last window + 1, ascending.
  std::vector<int32_t> kept(size_t n) const;
  /// Forgets all positions; their memory stays.
  void clear() { spiked_.zero(); }
  size_t size_bytes() const { return rows_.size() + spiked_.size(); }
  /// Of a window of this shape, before there is one.
  static size_t size_bytes(const Shape& shape);

 private:
  static constexpr size_t kBlock = 16;

  static size_t n_slots(const Shape& s) { return s.n_anchors + s.window + s.max_batch; }
  static size_t element_bytes(const Shape& s) { return s.f16 ? sizeof(uint16_t) : sizeof(float); }
  static size_t stride_bytes(const Shape& s) { return round_up(s.head_dim * element_bytes(s), kAlign); }
  static size_t block_rows(const Shape& s) { return s.n_layers * s.n_heads * 2 * kBlock; }
  static size_t rows_bytes(const Shape& s) {
    return round_up(n_slots(s), kBlock) / kBlock * block_rows(s) * stride_bytes(s);
  }
  size_t n_slots() const { return n_slots(shape_); }
  size_t slot(size_t pos) const {
    const size_t n = shape_.n_anchors;
    return pos < n ? pos : n + (pos - n) % (shape_.window + shape_.max_batch);
  }
  // Runs of a layer's block: keys and values of each head.
  size_t runs() const { return 2 * shape_.n_heads; }
  uint8_t* run(size_t layer, size_t run) {
    return rows_.data() + (layer * runs() + run) * kBlock * stride_bytes_;
  }
  size_t run_at(size_t layer, size_t run, size_t pos) const {
    return ((layer * runs() + run) * kBlock + row(pos)) * stride_bytes_;
  }
  size_t row_of(size_t slot) const { return slot / kBlock * block_rows_ + slot % kBlock; }

  Shape shape_{};
  size_t stride_bytes_ = 0, block_rows_ = 0;
  AlignedArray<uint8_t> rows_;    // [blocks, layers, heads, keys and values, 16, stride]
  AlignedArray<uint8_t> spiked_;  // [layers, slots]
};

}  // namespace spiked
