#ifndef SPIKED_ADDON_HEAD_H
#define SPIKED_ADDON_HEAD_H

#include <napi.h>

#include "arg_reader.h"
#include "capi/spiked.h"

namespace spiked::addon {

/// HeadSettings of native/host/addon-types.ts; absent: the full head.
spiked_head read_head(ArgReader& args, const Napi::Value& value);

/// HeadStep.
Napi::Object head_step_value(Napi::Env env, const spiked_head_step& step);

}  // namespace spiked::addon

#endif
