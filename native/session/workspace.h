#pragma once
#include "base/aligned.h"
#include "models/network.h"
#include "session/heads.h"

namespace spiked {

class Session;

/// What computing needs beside weights and a sequence's state: one for each model, since one thread computes at a time.
struct Workspace {
  explicit Workspace(const Model& model);

  std::unique_ptr<Scratch> scratch;
  Heads heads;
  AlignedArray<float> logits;  ///< [head::kMaxRows, heads.full().logits_stride()]
  /// [kMaxBatch, scratch->hidden_stride()] hidden states of a pass, for heads that look at one after the other and may need the scratch.
  AlignedArray<float> hidden;
  /// Whose last position's logits are still in `logits`.
  const Session* owner = nullptr;

  size_t size_bytes() const;
};

}  // namespace spiked
