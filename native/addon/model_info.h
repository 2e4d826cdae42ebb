#ifndef SPIKED_ADDON_MODEL_INFO_H
#define SPIKED_ADDON_MODEL_INFO_H

#include <napi.h>

#include "capi/spiked.h"

namespace spiked::addon {

/// Whether a pass quantises activations and has no spikes.
bool is_ternary(const spiked_model_info& info);

/// ModelInfo of native/host/addon-types.ts.
Napi::Object model_info(Napi::Env env, const spiked_model_info& info);

}  // namespace spiked::addon

#endif
