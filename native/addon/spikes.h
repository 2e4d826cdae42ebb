#ifndef SPIKED_ADDON_SPIKES_H
#define SPIKED_ADDON_SPIKES_H

#include <napi.h>

#include <cstdint>
#include <vector>

#include "arg_reader.h"
#include "buffer.h"

namespace spiked::addon {

/// Values a threshold of n positions: encoder and block [.., n, embed_dim], ffn [n_layers, n, ffn_dim].
struct SpikeCounts {
  size_t encoder, ffn, block;
  SpikeCounts(const spiked_model_info& shape, size_t n)
      : encoder(n * shape.embed_dim),
        ffn(static_cast<size_t>(shape.n_layers) * n * shape.ffn_dim),
        block(static_cast<size_t>(shape.n_layers) * n * shape.embed_dim) {}
};

/// Decisions given to a pass: a copy, which the engine may read while JS changes its own.
struct GivenSpikes {
  std::vector<uint8_t> encoder, ffn, block;  ///< empty: all free

  /// Reads Spikes of addon-types.ts, or undefined.
  static GivenSpikes read(ArgReader& args, const Napi::Value& value, const std::string& name,
                          const SpikeCounts& counts);
  spiked_given_spikes c() const;
};

/// Spikes that a pass records; taken as Spikes of addon-types.ts.
struct SpikeBuffers {
  Buffer<uint8_t> encoder, ffn, block;

  bool allocate(const SpikeCounts& counts);
  spiked_spikes c() { return {encoder.data(), ffn.data(), block.data()}; }
  /// null when nothing was allocated
  Napi::Value take(Napi::Env env);
};

}  // namespace spiked::addon

#endif
