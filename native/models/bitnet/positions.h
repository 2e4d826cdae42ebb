#pragma once
#include <atomic>
#include <span>

#include "models/bitnet/state.h"
#include "models/bitnet/weights.h"

namespace spiked::bitnet {

/// The positions of a pass, part after part, without those of parts that have no room; and what went wrong with each.
class Positions {
 public:
  /// Sets the status of parts that have no room.
  Positions(std::span<Part> parts, const Config& config);

  size_t n = 0;
  size_t at[kMaxBatch];   ///< in its sequence
  size_t row[kMaxBatch];  ///< among all positions of the parts: where its hidden state goes
  State* state[kMaxBatch];

  /// h = the embedding of position t, f32 [dim]; read f16 [dim] is scratch. Different positions at once are fine.
  void embed(const Weights& w, size_t t, size_t dim, uint16_t* read, float* h);
  /// Rows of the keys that each position sees, [kMaxBatch, stride], their numbers, and what reading them counts as.
  void find_keys(size_t stride, uint32_t* key_rows, size_t* n_keys, size_t n_layers);
  /// Position t met a value that is not finite. Any worker.
  void not_finite(size_t t, size_t layer);

  /// What the parts learn at the end; the sequences that went well stand after their ids.
  void finish();

 private:
  Part* part_[kMaxBatch];
  int32_t id_[kMaxBatch];
  Status failed_[kMaxBatch];                  // while reading position t's embedding
  std::atomic<size_t> bad_layer_[kMaxBatch];  // layer + 1 of the first value that is not finite; 0: none
};

}  // namespace spiked::bitnet
