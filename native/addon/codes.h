#ifndef SPIKED_ADDON_CODES_H
#define SPIKED_ADDON_CODES_H

#include <napi.h>

#include "buffer.h"
#include "capi/spiked.h"

namespace spiked::addon {

/// What a pass of n positions quantised; taken as TernaryCodes of addon-types.ts.
struct CodeBuffers {
  Buffer<int8_t> attn_in, attn_out, ffn_in, ffn_down;
  Buffer<float> absmax;

  /// False when there is no memory.
  bool allocate(const spiked_model_info& shape, size_t n);
  spiked_ternary_codes c() {
    return {attn_in.data(), attn_out.data(), ffn_in.data(), ffn_down.data(), absmax.data()};
  }
  /// null when nothing was allocated
  Napi::Value take(Napi::Env env);
};

}  // namespace spiked::addon

#endif
