#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "models/network.h"
#include "models/symboliclight/network.h"
#include "models/symboliclight/reference.h"
#include "models/symboliclight/state.h"
#include "sampler/sampler.h"
#include "session/lookup.h"
#include "session/workspace.h"

namespace spiked {

enum class LogitsMode { kNone = 0, kLast = 1, kAll = 2 };

struct SessionStats {
  uint64_t position = 0;
  Activity activity;
  uint64_t bytes_touched = 0, kv_bytes_touched = 0;  ///< of the last forward
  uint64_t state_bytes = 0;
  uint64_t cached_positions = 0;  ///< taken over from the prefix cache instead of computed
  uint64_t batch = 0;             ///< sequences that the last pass computed together
};

class Session;

/// One id that a step drew.
struct Drawn {
  int32_t id = 0;
  float logprob = 0;  ///< only when asked for
  head::Step head;
  SessionStats stats;  ///< the session's as they were then; the first of a step has the bytes of its pass
};

/// One session's step among others: feeds an id and draws the next one, and with a draft that holds some more.
struct JointStep {
  Session* session;
  int32_t fed;
  Ask ask;
  /// Ids to guess and verify in the same pass, at most kMaxDraft: what is drawn is what as many steps without would draw. Taken as 0
  /// unless the ask is greedy and wants no log-probabilities.
  size_t max_draft = 0;
  std::span<const int32_t> stop_ids{};  ///< none is fed by this step
  Status status{};  ///< out: this session's own, which came after what was drawn; the others go on
  size_t n_guessed = 0, n_drawn = 0;  ///< out
  std::array<Drawn, kMaxRevocable> drawn{};
};
inline constexpr size_t kMaxDraft = kMaxRevocable - 1;

/// One sequence: its state, its history, its generator. Thread-compatible; cancel() is thread-safe.
class Session {
 public:
  explicit Session(std::shared_ptr<const Model> model);
  /// Goes on from where `from` is as `from` would: state, history and generator are copies.
  explicit Session(const Session& from);
  /// Asks the ledger for what a session of this model may come to need; to be held as long as the session. Errors: ERR_RAM_BUDGET.
  static Result<Reservation> reserve(const Model& model);

  const Model& model() const { return *model_; }
  void reset();
  void cancel() { cancel_.store(true, std::memory_order_relaxed); }
  void seed(uint64_t seed) { generator_ = sampler::Generator(seed); }

  /// Feeds n ids; the same bits for any split into calls.
  ///
  /// logits  f32 [V] for kLast, [n, V] for kAll, null for kNone
  /// Errors: ERR_PROMPT_EMPTY, ERR_TOKEN_UNKNOWN (names id and position; nothing is fed), ERR_CANCELLED (reset next), ERR_MODEL_UNSUPPORTED for
  /// a trace that this model cannot fill; a Part's own.
  Status forward(const int32_t* ids, size_t n, LogitsMode mode, float* logits, Trace* trace);

  /// Draws from the last position's logits. Errors: ERR_INVALID_ARGUMENT before any forward with logits, and the sampler's.
  Status sample(const sampler::Settings& settings, size_t valid, int32_t* id, float* logprob);
  Result<std::span<const sampler::Candidate>> distribution(const sampler::Settings& settings, size_t valid);

  /// Runs a head on the last position's hidden state and draws the next id. *logprob only when it is wanted.
  /// Errors: ERR_INVALID_ARGUMENT before any forward, the head's (Heads::run) and the sampler's.
  Status next(const Ask& ask, int32_t* id, float* logprob, head::Step* step);
  /// One step of 1 to kMaxBatch different sessions of one model as one pass, which reads the weights once for all of them. The bits
  /// and ids are those of forward and next on each alone.
  ///
  /// Errors, each session's own: as forward and next. cancel() is heeded before the pass, in it only where there is one session.
  static void step_together(std::span<JointStep> steps);
  /// The same as next for a hidden state of the caller's, f32 [D]; the session's history still counts for the penalty.
  Status choose(const float* hidden, const Ask& ask, int32_t* id, head::Step* step);

  /// logprobs[i] = log p(ids[i] | ids before i), [0] = 0; from a fresh session. masked_mass[i], unless null: what the slots without a
  /// token would have had of the distribution that ids[i] came from, were they not masked; [0] = 0. One pass of it: *at, 0 at
  /// first, moves on until it is n.
  Status score_pass(const int32_t* ids, size_t n, size_t* at, double* logprobs, double* masked_mass);

  /// From now on (or no longer) times what worker 0 does; a few microseconds a token.
  void set_profile(bool on) { profiled_ = on; }
  /// Time by operation since it was switched on or last taken; zero when off.
  Profile take_profile() { return std::exchange(profile_, {}); }

  /// The float64 pass over ids as a sequence of its own: this session's state is neither read nor written.
  ///
  /// dense_inputs  f32 [L, 3, n, D] recorded by a forward of these ids; null with kF32 and only then
  /// Errors: as forward; ERR_INVALID_ARGUMENT.
  Status reference(const int32_t* ids, size_t n, SpikeBytes<const uint8_t> given,
                   ops::Activations activations, const float* dense_inputs,
                   const symboliclight::ReferenceOutput& out);

  SessionStats stats() const;
  /// What the sequence of a spiking model carries. Errors: ERR_MODEL_UNSUPPORTED for another model's.
  Result<const symboliclight::State*> spiking_state() const;
  /// The last position's hidden state, f32 [D]; null before any forward.
  const float* hidden() const { return has_hidden_ ? hidden_.data() : nullptr; }
  /// The prior branch's vector of the last full head that ran on one position of this model, f32 [D/4].
  const float* prior() const { return workspace_.heads.full().prior(); }

 private:
  /// After a pass that failed: what the sequence carries is half written.
  void tear(const Status& why);
  Status not_spiking(const char* what) const;
  Status check_ids(const int32_t* ids, size_t n) const;
  Status begin_score(const int32_t* ids, size_t n, double* logprobs, double* masked_mass);
  Status pass(const int32_t* ids, size_t n, Trace* trace);
  /// What is left to do when the state is after n more ids: hidden is the last one's, f32 [D].
  void advance(const int32_t* ids, size_t n, const float* hidden, const Activity& seen);
  /// Counts what a pass over n of this session's ids had to read, as one of `batch` sequences.
  void count_bytes(size_t n, const Activity& seen, size_t batch);
  Pass pass_of(const std::atomic<bool>& cancel);
  /// Takes over what an earlier sequence computed for these ids, if there is such.
  bool take_over(const int32_t* ids, size_t n);
  void begin_prefix() { prefix_ = model_->prefixes ? model_->prefixes->root() : nullptr; }
  /// Runs the full head over n hidden states; the workspace's logits are theirs after, the last row this session's.
  /// Errors: Full::run's; no position's logits are there then.
  Status run_head(const float* hidden, size_t n);
  /// The last position's logits, computed again if others were since; null before any.
  Result<const float*> last_logits();
  Status draw(const float* hidden, const Ask& ask, int32_t* id, float* logprob, head::Step* step);
  /// The ask as this model has it; an error when it cannot be served.
  Result<Ask> checked(const Ask& ask) const;
  /// Draws an id from logits that are exact in `rows`, or everywhere when it is empty.
  Status pick(const float* logits, std::span<const int32_t> rows, const Ask& ask, int32_t* id, float* logprob,
              head::Step* step);
  struct Round;
  /// Whether the step can be taken at all; its status says why not.
  static bool begin(JointStep& step);
  /// Guesses what the step may verify, at most n ids.
  size_t guess(const JointStep& step, size_t n, int32_t* out);
  /// Takes up the round's next position: it is part of the text now, and draws the id after it.
  ///
  /// logits  of hidden, from the full head, which `ran` so; null: the head has to run
  void look(Round& round, const float* hidden, const float* logits, const head::Step& head,
            const Status& ran);
  void finish(Round& round);
  Profile* profile() { return profiled_ ? &profile_ : nullptr; }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Sequence> sequence_;
  Workspace& workspace_;
  const float* last_ = nullptr;  // the last position's logits, while the workspace is this session's
  AlignedArray<float> hidden_;   // [D] the last position's hidden state, zero-padded
  bool has_hidden_ = false;
  AlignedArray<float> foreign_;  // [D] a caller's hidden state, zero-padded
  sampler::Sampler sampler_;
  sampler::Generator generator_{0};
  std::vector<int32_t> history_;
  Lookup lookup_;
  Activity activity_;
  PrefixCache::Place prefix_;  // where the ids so far are in the prefix cache; null once they are not
  uint64_t cached_positions_ = 0;
  uint64_t bytes_touched_ = 0, kv_bytes_touched_ = 0, batch_ = 0;
  std::atomic<bool> cancel_{false};
  bool profiled_ = false;
  Profile profile_;
  bool torn_ = false;  // a cancelled pass left the state half written
};

}  // namespace spiked
