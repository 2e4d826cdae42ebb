#pragma once
#include <cstdint>
#include <string>

#include "models/network.h"
#include "tensor/gguf.h"

namespace spiked::bitnet {

/// Numbers of a BitNet b1.58 model that never change (docs/model-file.md, "BitNet").
struct Config {
  std::string architecture;  ///< "bitnet-b1.58" or "bitnet-25", and the prefix of the other keys
  uint32_t vocab_size;       ///< V
  uint32_t embed_dim;        ///< D
  uint32_t n_layers;         ///< L
  uint32_t n_heads, n_kv_heads, head_dim;
  uint32_t ffn_dim;      ///< F
  uint32_t max_context;  ///< positions that the model was trained for
  float norm_eps, rope_base;
  uint32_t context;  ///< positions that a sequence has room for
  bool kv_f16, half_away;

  size_t attn_dim() const { return size_t{n_heads} * head_dim; }
  size_t kv_dim() const { return size_t{n_kv_heads} * head_dim; }

  /// Errors: ERR_MODEL_INVALID, ERR_MODEL_UNSUPPORTED; each names file, key, expected and found.
  static Result<Config> read(const GgufFile& file, const NetworkOptions& options);
};

}  // namespace spiked::bitnet
