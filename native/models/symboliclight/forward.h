#pragma once
#include <atomic>
#include <span>

#include "base/profile.h"
#include "models/symboliclight/spike_bytes.h"
#include "models/symboliclight/state.h"
#include "models/symboliclight/weights.h"
#include "ops/linear.h"
#include "threads/pool.h"

namespace spiked::symboliclight {

/// What a checking caller records of one pass; every pointer may be null. Rows of later passes are appended by the caller moving the pointers.
struct Trace {
  int32_t* active_encoder = nullptr;  ///< [n]
  int32_t* active_mixer = nullptr;    ///< [L, stride]
  int32_t* active_ffn = nullptr;      ///< [L, stride]
  float* block_out = nullptr;         ///< [L, stride, D]
  size_t stride = 0;                  ///< positions a layer row
  SpikeBytes<uint8_t> spikes;         ///< what every threshold said, given decisions or not
  SpikeBytes<const uint8_t> given;    ///< decisions used in place of the pass's own
  float* dense_inputs = nullptr;      ///< [L, 3, stride, D] into q/k/v, out and up, not quantised
  float margin_encoder, margin_mixer, margin_ffn;  ///< smallest |z - threshold|
};

struct Pass {
  Pool& pool;
  const kernels::Kernels& kernels;
  const Config& config;
  const Weights& weights;
  const std::atomic<bool>& cancel;
  ops::Activations activations;  ///< of the blocks' dense products; all but kF32 need quantised weights
  Profile* profile;              ///< null: not measured
};

/// Columns read by one pass, of how many.
struct Activity {
  uint64_t mixer_active = 0, ffn_active = 0, mixer_total = 0, ffn_total = 0;
  uint64_t keys_read = 0;  ///< by the position that sees most, summed over layers
};

/// One sequence's part of a pass.
struct Part {
  const int32_t* ids;  ///< [n], all < V, fed at state->position
  size_t n;
  State* state;
  Activity activity{};  ///< out
};

/// Feeds every part (1 to kMaxBatch ids together, no state twice); scratch.stream.c [ids, D] then holds the vectors the head reads, part
/// after part.
///
/// trace  null unless there is one part
///
/// Returns false when cancelled: the states are then torn and must be reset. The bits of a part depend on neither how its sequence is cut
/// into passes, nor on the other parts, nor on the number of workers.
/// Source: specification of SymbolicLight V1 (arXiv:2605.21333); docs/numerics.md for the order of every sum.
bool forward(const Pass& pass, std::span<Part> parts, Scratch& scratch, Trace* trace);

}  // namespace spiked::symboliclight
