#pragma once
#include <cstdint>

#include "base/status.h"
#include "tensor/gguf.h"

namespace spiked::symboliclight {

/// The two published graphs (docs/model-file.md).
enum class Form { k08b, k194m };

/// Numbers that never change. Names as in the checkpoint's config.
struct Config {
  Form form;
  uint32_t vocab_size;        ///< V
  uint32_t valid_vocab_size;  ///< ids that the tokenizer has
  uint32_t embed_dim;         ///< D = n_heads * head_dim
  uint32_t n_layers, n_heads, head_dim;
  uint32_t ffn_dim;       ///< F, intermediate_dim
  uint32_t max_context;   ///< max_seq_len
  uint32_t window;        ///< W: a query sees W + 1 positions with itself
  uint32_t n_anchors;     ///< G
  float threshold, leak;  ///< theta, lambda
  bool sparse_attn, dynamic_prior;

  size_t prior_dim() const { return embed_dim / 4; }

  /// Errors: ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED; each names file, key, expected and found.
  static Result<Config> read(const GgufFile& file);
};

}  // namespace spiked::symboliclight
