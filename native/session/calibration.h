#pragma once
#include <memory>

#include "head/coarse.h"
#include "session/model.h"

namespace spiked {

/// The first pass's tables of a model, made once and kept with it: 8 bits of F16 weights (or 4, as the engine says), 4 of others. A table of
/// 4 bits is helped by the directions of hidden states from text that the model writes itself, from a fixed seed: the same tables on every
/// machine. One of 8 bits needs no help.
/// Errors: ERR_RAM_BUDGET, ERR_NO_MEMORY; RowFile::read's.
Result<std::shared_ptr<const head::Coarse>> coarse_head(const std::shared_ptr<const Model>& model);

}  // namespace spiked
