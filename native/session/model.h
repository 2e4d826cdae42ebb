#pragma once
#include <memory>
#include <string>
#include <vector>

#include "head/coarse.h"
#include "models/network.h"
#include "tensor/gguf.h"
#include "session/engine.h"
#include "session/prefix_cache.h"

namespace spiked {

struct Workspace;

/// A mapped model file and the network in it: const, shared by its sessions.
struct Model : std::enable_shared_from_this<Model> {
  std::shared_ptr<Engine> engine;
  /// What is given back with it, beside what the file's bytes and sessions hold themselves. Only the thread that computes adds to it.
  mutable std::vector<Reservation> reserved;
  std::shared_ptr<const GgufFile> file;
  std::unique_ptr<const Network> network;
  std::string name;
  std::string data_sha256;  ///< as declared in the file; empty where a family does not
  uint64_t tokenizer_offset_bytes = 0, tokenizer_size_bytes = 0;
  /// The certified head's tables, made when first needed (session/calibration). One thread computes at a time, so nothing guards it.
  mutable std::shared_ptr<const head::Coarse> coarse;

  /// What its sessions compute in.
  std::shared_ptr<Workspace> workspace;
  /// What prompts before left behind; null unless the engine has room for it.
  std::shared_ptr<PrefixCache> prefixes;

  /// Maps, or copies as the engine says, and checks; does not look at the large tensors.
  /// Errors: ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_MODEL_INVALID, ERR_MODEL_VERSION, ERR_MODEL_UNSUPPORTED, ERR_MODEL_TENSOR; ERR_MODEL_FILE_CHANGED,
  /// ERR_RAM_BUDGET, ERR_NO_MEMORY.
  static Result<std::shared_ptr<const Model>> open(std::shared_ptr<Engine> engine, const std::string& path);

  /// Asks the engine's ledger. Errors: ERR_RAM_BUDGET.
  Result<Reservation> ask(Memory use, uint64_t size_bytes, const char* what) const;

  const Facts& facts() const { return network->facts(); }
};

}  // namespace spiked
