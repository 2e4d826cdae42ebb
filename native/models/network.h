#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "base/profile.h"
#include "base/status.h"
#include "models/trace.h"
#include "ops/linear.h"
#include "state/sequence.h"
#include "threads/pool.h"

namespace spiked {

/// Most positions that one pass computes together, in every family.
inline constexpr size_t kMaxBatch = 32;
/// Most ids of a pass that may be taken back.
inline constexpr size_t kMaxRevocable = 8;

/// How a network is opened; the defaults fit.
struct NetworkOptions {
  /// Of a spiking model's dense products; all but kF32 need quantised weights. A ternary model says itself what its activations are.
  ops::Activations activations = ops::Activations::kF32;
  uint32_t context = 0;  ///< positions that a sequence has room for; 0: the model's
  bool kv_f16 = false;   ///< keys and values rounded to F16; ternary models only
  bool low_memory =
      false;  ///< nothing of an F16 embedding or output table stays in memory; ternary models only
  bool half_away = false;  ///< ternary activations by the contract "hyphae" (docs/numerics.md)
};

/// What a model is, in numbers and names that the outside shows; a family leaves what it does not have at 0.
struct Facts {
  const char* architecture = "";  ///< general.architecture
  const char* form = "";          ///< which of a family's published graphs
  const char* weights = "";       ///< storage of the Linear weights
  const char* layout_plan = "";
  uint32_t vocab_size = 0, valid_vocab_size = 0, embed_dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0;
  uint32_t head_dim = 0, ffn_dim = 0;
  uint32_t max_context = 0;  ///< positions that the model was made for
  uint32_t room = 0;         ///< positions that a sequence has room for; 0: no end
  uint32_t window = 0, n_anchors = 0;
  float threshold = 0, leak = 0;
  bool sparse_attn = false, dynamic_prior = false;
  uint64_t n_parameters = 0;
};

struct Pass {
  Pool& pool;
  const kernels::Kernels& kernels;
  const std::atomic<bool>& cancel;
  ops::Activations activations;  ///< those that the network was opened for
  Profile* profile;              ///< null: not measured
};

/// What one pass read that depends on its ids.
struct Activity {
  uint64_t mixer_active = 0, ffn_active = 0, mixer_total = 0, ffn_total = 0;  ///< columns read, of how many
  uint64_t keys_read = 0;  ///< by the position that sees most, summed over layers
};

/// One sequence's part of a pass.
struct Part {
  const int32_t* ids;  ///< [n], all < V, fed at sequence->position
  size_t n;
  Sequence* sequence;
  bool revocable =
      false;  ///< n <= kMaxRevocable, and they may be taken back after the pass (Sequence::take_back)
  Activity activity{};       ///< out
  Activity* each = nullptr;  ///< [n] out, unless null: the columns of each position
  /// Out: this sequence's own failure, which leaves it torn, or where it was if it is revocable; the others go on.
  Status status{};
};

/// What a pass writes and nobody reads afterwards, except the hidden states.
class Scratch {
 public:
  virtual ~Scratch() = default;
  /// f32 [kMaxBatch, hidden_stride()], zero from D on: the vectors that the head reads, position after position of the last pass's parts;
  /// rows of a part that failed hold nothing.
  virtual const float* hidden() const = 0;
  virtual size_t hidden_stride() const = 0;
  virtual size_t size_bytes() const = 0;
};

/// A model's configuration and weights: const, shared by its sequences.
class Network {
 public:
  virtual ~Network() = default;

  virtual const Facts& facts() const = 0;
  virtual const HeadWeights& head() const = 0;

  virtual std::unique_ptr<Sequence> new_sequence() const = 0;
  /// Of a sequence at its longest.
  virtual size_t sequence_bytes() const = 0;
  virtual std::unique_ptr<Scratch> new_scratch(unsigned n_workers) const = 0;

  /// Whether forward can fill this trace. Errors: ERR_MODEL_UNSUPPORTED naming the field.
  virtual Status check_trace(const Trace& trace) const = 0;

  /// Feeds every part (1 to kMaxBatch ids together, no sequence twice).
  ///
  /// trace  null unless there is one part
  ///
  /// Returns false when cancelled: the sequences are then torn and must be cleared. The bits of a part depend on neither how its sequence is
  /// cut into passes, nor on the other parts, nor on the number of workers.
  /// Errors, each part's own: ERR_CONTEXT_FULL (nothing of it was fed), ERR_MODEL_INVALID for a value that is not finite; ERR_FILE_IO.
  virtual bool forward(const Pass& pass, std::span<Part> parts, Scratch& scratch, Trace* trace) const = 0;

  /// Least bytes that every pass over the blocks reads whatever the activity: dense weights, norms, scalars.
  virtual uint64_t dense_bytes() const = 0;
  /// Bytes that one active input adds to that.
  virtual uint64_t column_bytes() const = 0;
  /// Bytes of one position's embedding.
  virtual uint64_t embedding_bytes() const = 0;
  /// Bytes of one position's keys and values in one layer.
  virtual uint64_t key_bytes() const = 0;
};

}  // namespace spiked
