#pragma once
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace spiked {

/// What a step's time goes to, as worker 0 sees it.
enum class Operation : size_t {
  kEncode,       ///< embedding, its norm, the membrane
  kColumnSums,   ///< products with binary inputs
  kProjections,  ///< dense products of the blocks
  kAttention,    ///< decay, rope, scores, mixing
  kNorms,
  kThresholds,
  kBarriers,  ///< waiting for the other workers
  kHead,      ///< the whole head, its barriers included
  kSampling,
};
inline constexpr const char* kOperationNames[] = {"encode",    "column_sums", "projections",
                                                  "attention", "norms",       "thresholds",
                                                  "barriers",  "head",        "sampling"};
inline constexpr size_t kOperations = sizeof kOperationNames / sizeof *kOperationNames;
static_assert(kOperations == static_cast<size_t>(Operation::kSampling) + 1, "a name for every operation");

struct Profile {
  uint64_t ns[kOperations] = {};
};

/// Adds what passes between laps to a profile; without one it does nothing.
class Stopwatch {
 public:
  explicit Stopwatch(Profile* profile) : profile_(profile), clock_(profile != nullptr) {}
  void lap(Operation operation) {
    if (profile_ != nullptr) profile_->ns[static_cast<size_t>(operation)] += clock_.lap();
  }

 private:
  Profile* profile_;
  Clock clock_;
};

}  // namespace spiked
