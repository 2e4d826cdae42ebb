#ifndef SPIKED_ADDON_MODEL_INFO_H
#define SPIKED_ADDON_MODEL_INFO_H

#include <napi.h>

#include "capi/spiked.h"

namespace spiked::addon {

/// ModelInfo of native/host/addon-types.ts.
Napi::Object model_info(Napi::Env env, const spiked_model_info& info);

}  // namespace spiked::addon

#endif
