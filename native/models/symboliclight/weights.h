#pragma once
#include <vector>

#include "models/symboliclight/config.h"
#include "models/symboliclight/storage_plan.h"
#include "ops/norm.h"
#include "tensor/matrix.h"

namespace spiked::symboliclight {

/// Layouts are those of the plan `mixed`; see StoragePlan.
struct BlockWeights {
  Matrix tcam;             // [D, D] column_major: binary input
  const float* decay_raw;  // [H]
  Matrix q, k, v;          // [D, D] panel; sparse attention only
  const float* inv_freq;   // [d/2], the stored values
  bool own_angles;         // inv_freq differs from the block before (or there is none)
  const float* gate_raw;   // attn_gate [1]; null where there is none
  float gate;              // sigmoid(attn_gate)
  Matrix out;              // [D, D]
  ops::NormWeights tcam_norm;
  Matrix up;    // [F, D]
  Matrix down;  // [D, F] column_major: binary input
  ops::NormWeights ffn_norm;
};

/// Read-only views of a mapped model file, every shape checked against the configuration.
struct Weights {
  const float* embedding;  // [V, D]
  ops::NormWeights encoder_norm;
  std::vector<BlockWeights> blocks;
  HeadWeights head;
  StoragePlan storage;
  uint64_t n_parameters = 0;

  /// Exactly the tensors of the configuration must be there.
  /// Errors: ERR_MODEL_TENSOR, ERR_MODEL_INVALID; each names file, tensor, expected and found.
  static Result<Weights> map(const GgufFile& file, const Config& config);
};

}  // namespace spiked::symboliclight
