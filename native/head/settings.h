#pragma once
#include "base/status.h"
#include "ops/linear.h"
#include "tensor/matrix.h"

namespace spiked::head {

/// How the next id is found (docs/numerics.md, "Heads"). kFull is the reference; kCertified never differs from it.
enum class Mode : int32_t { kFull = 0, kScan = 1, kGate = 2, kCertified = 3, kTopK = 4 };
/// What a gate's first pass does with i8 activations: the output projection alone, or the prior branch too.
enum class Scope : int32_t { kProjection = 0, kHead = 1 };

/// Most rows that a gate, or top-k in each of its blocks, recomputes.
inline constexpr uint32_t kMaxVerifiedRows = 4096;

struct Settings {
  Mode mode = Mode::kFull;
  ops::Activations activations = ops::Activations::kI8;  ///< scan: of every product of the pass
  Scope scope = Scope::kProjection;                      ///< gate
  uint32_t k = 32;         ///< gate: rows recomputed; topk: of each block of 4,096
  float threshold = 0.5f;  ///< gate: verify when the top-two gap is below it
  uint32_t cap =
      0;  ///< certified: most rows recomputed before it falls back; 0 is three eighths of the vocabulary

  /// Errors: ERR_INVALID_ARGUMENT naming the setting, ERR_MODEL_UNSUPPORTED when these weights cannot serve the mode.
  Status check(const HeadWeights& weights) const;
};

/// What one step of a head did. Times are 0 where a part did not run.
struct Step {
  Mode mode = Mode::kFull;     ///< what ran: a mode that cannot serve a request's sampling gives way to kFull
  bool triggered = false;      ///< gate: the gap was below the threshold
  bool proved = false;         ///< the choice is full's, by proof or because full ran
  bool fell_back = false;      ///< certified: too many survivors, so all rows were computed
  float gap = 0;               ///< gate: between the two best scores of the first pass
  uint32_t rows = 0;           ///< rows computed with f32 activations after the first pass
  uint32_t survivors = 0;      ///< certified: rows that could still win
  int32_t id_before = -1;      ///< the first pass's best id
  uint64_t projection_ns = 0;  ///< output rows of the first pass
  uint64_t prior_ns = 0;       ///< prior branch
  uint64_t selection_ns = 0;   ///< masks, bounds, top K
  uint64_t verification_ns = 0;  ///< rows computed again
  uint64_t bytes = 0;            ///< least bytes of weights and tables read
};

}  // namespace spiked::head
