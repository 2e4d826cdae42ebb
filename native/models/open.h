#pragma once
#include "models/network.h"
#include "tensor/gguf.h"

namespace spiked {

/// The network in a model file, by its general.architecture; views of the file, which has to outlive it.
/// Errors: ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR; each names file, key or tensor, expected and found.
Result<std::unique_ptr<const Network>> open_network(const GgufFile& file, const NetworkOptions& options);

}  // namespace spiked
