#pragma once
#include <memory>

#include "head/certified.h"
#include "head/full.h"
#include "head/gate.h"
#include "head/topk.h"
#include "sampler/sampler.h"
#include "session/model.h"

namespace spiked {

/// What a step asks of the head.
struct Ask {
  sampler::Settings sampling;
  size_t valid;       ///< ids at or beyond it are masked
  bool want_logprob;  ///< needs every row
  head::Settings head;
};

/// A model's heads, made when first asked for: one hidden state to the logits that the sampler may choose from.
class Heads {
 public:
  explicit Heads(const Model& model);

  /// ask     whose settings fit the model
  /// logits  f32 [full().logits_stride()]
  /// rows    out: the ids whose logits were computed exactly and that hold the answer; empty: all
  /// Errors: ERR_MODEL_INVALID for a hidden state that is not finite; ERR_RAM_BUDGET; ERR_CANCELLED, ERR_NO_MEMORY while a head's tables are
  /// made; in low memory mode ERR_FILE_IO and ERR_MODEL_FILE_CHANGED.
  Status run(const float* hidden, const Ask& ask, std::span<const int32_t> history, float* logits,
             std::span<const int32_t>* rows, head::Step* step);

  /// Whether this ask takes the full head.
  static bool takes_full(const Ask& ask);
  /// The full head on n (<= head::kMaxRows) hidden states, f32 [n, hidden_stride]; logits [n, full().logits_stride()], a step for each.
  /// Errors: Full::run's.
  Status run_full(const float* hidden, size_t hidden_stride, size_t n, float* logits,
                  head::Step* const* steps);

  head::Full& full() { return full_; }
  size_t size_bytes() const;

 private:
  head::Rules rules(const Ask& ask, std::span<const int32_t> history);
  /// Keeps a head that was made, if the ledger has room for it.
  template <typename Head>
  Status keep(std::unique_ptr<Head>& place, std::unique_ptr<Head> made);
  Status make_tables();
  Status certified(const float* hidden, const Ask& ask, const head::Rules& rules, float* logits,
                   std::span<const int32_t>* rows, head::Step* step);
  Status topk(const float* hidden, const Ask& ask, const head::Rules& rules, float* logits,
              std::span<const int32_t>* rows, head::Step* step);

  const Model& model_;
  head::OutputRows output_;
  head::Full full_;
  std::unique_ptr<head::Scan> scan_;
  std::unique_ptr<head::Gate> gate_;
  std::shared_ptr<const head::Coarse> coarse_;
  std::unique_ptr<head::Certified> certified_;
  std::unique_ptr<head::TopK> topk_;
  std::vector<uint8_t> kinds_;  // [V] of head::Rules
};

}  // namespace spiked
