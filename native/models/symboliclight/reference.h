#pragma once
#include <atomic>

#include "models/symboliclight/config.h"
#include "models/symboliclight/weights.h"
#include "models/trace.h"
#include "ops/linear.h"
#include "threads/pool.h"

namespace spiked::symboliclight {

/// A sequence from its first id on. What a float64 pass over it takes:
struct ReferenceInput {
  Pool& pool;
  const Config& config;
  const Weights& weights;
  const std::atomic<bool>& cancel;
  const int32_t* ids;  ///< [n], all < V
  size_t n;
  SpikeBytes<const uint8_t> given;  ///< decisions used in place of its own
  /// kF32: the blocks' dense products take exact numbers. Others: they take dense_inputs, quantised as docs/numerics.md says.
  ops::Activations activations;
  const float* dense_inputs;  ///< [L, 3, n, D] of an engine's pass (Trace)
};

/// What it gives. Any pointer may be null.
struct ReferenceOutput {
  SpikeBytes<uint8_t> spikes;  ///< what every threshold said, given decisions or not
  SpikeBytes<double> margins;  ///< z - threshold
  double* logits;              ///< [n, V]
};

/// The model in plain float64 arithmetic over the numbers that the weights stand for exactly: what every other precision is held to.
///
/// Shares no arithmetic with forward(): its own sums, libm's exp, erf, sin and cos. Unpacks a row of weights at a time, so that a
/// model of any size fits. Returns false when cancelled. May throw std::bad_alloc.
/// Source: specification of SymbolicLight V1 (arXiv:2605.21333).
bool reference(const ReferenceInput& in, const ReferenceOutput& out);

}  // namespace spiked::symboliclight
