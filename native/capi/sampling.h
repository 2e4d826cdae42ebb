#pragma once
#include "capi/spiked.h"
#include "session/session.h"

namespace spiked::capi {

/// Errors: ERR_INVALID_ARGUMENT for a negative top_k; other settings are checked where they are used.
Result<sampler::Settings> settings_of(const spiked_sampling& in);

}  // namespace spiked::capi
