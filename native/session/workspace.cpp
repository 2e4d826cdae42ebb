#include "session/workspace.h"

namespace spiked {

Workspace::Workspace(const Model& model)
    : scratch(model.network->new_scratch(model.engine->pool->size())),
      heads(model),
      logits(head::kMaxRows * heads.full().logits_stride()),
      hidden(kMaxBatch * scratch->hidden_stride()) {}

size_t Workspace::size_bytes() const {
  return scratch->size_bytes() + heads.size_bytes() + (logits.size() + hidden.size()) * sizeof(float);
}

}  // namespace spiked
