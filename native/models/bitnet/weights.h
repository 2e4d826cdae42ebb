#pragma once
#include <memory>
#include <vector>

#include "models/bitnet/config.h"
#include "tensor/matrix.h"
#include "tensor/row_file.h"

namespace spiked::bitnet {

struct BlockWeights {
  const float* attn_norm;      // [D]
  Matrix q, k, v;              // [A, D], [K, D], [K, D] ternary; A = attn_dim, K = kv_dim
  const float* attn_sub_norm;  // [A]
  Matrix out;                  // [D, A]
  const float* ffn_norm;       // [D]
  Matrix gate, up;             // [F, D]
  const float* ffn_sub_norm;   // [F]
  Matrix down;                 // [D, F]
};

/// Read-only views of a mapped model file, every shape checked against the configuration.
struct Weights {
  const uint16_t* embedding = nullptr;            // f16 [V, D]; null in low memory mode
  std::unique_ptr<const RowFile> embedding_rows;  // then: the same, in the file
  std::unique_ptr<const RowFile> output_rows;     // then: those of the head
  std::vector<BlockWeights> blocks;
  const float* output_norm = nullptr;  // [D]
  HeadWeights head;
  std::vector<float> inv_freq;  // [d/2]
  uint64_t n_parameters = 0;

  /// Exactly the tensors of the configuration must be there. Reads every ternary weight.
  /// Errors: ERR_MODEL_TENSOR; each names file, tensor, expected and found.
  static Result<Weights> map(const GgufFile& file, const Config& config, bool low_memory);
};

}  // namespace spiked::bitnet
