#pragma once
#include <memory>

#include "head/coarse.h"
#include "session/model.h"

namespace spiked {

/// The certified head's tables of a model, made once and kept with it. Their directions are those of hidden states from text that the
/// model writes itself, from a fixed seed: the same tables on every machine.
/// Errors: ERR_NO_MEMORY.
Result<std::shared_ptr<const head::Coarse>> coarse_head(const std::shared_ptr<const Model>& model);

}  // namespace spiked
