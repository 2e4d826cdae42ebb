#ifndef SPIKED_ADDON_GENERATE_JOB_H
#define SPIKED_ADDON_GENERATE_JOB_H

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "outbox.h"
#include "session_jobs.h"

namespace spiked::addon {

/// When a generate ends by itself.
struct GenerateLimits {
  uint64_t max_tokens = 0;
  std::vector<int32_t> stop_ids;
  uint32_t max_draft = 0;

  /// Reads `maxTokens`, `stopIds` and `maxDraft` of GenerateOptions, addon-types.ts.
  static GenerateLimits read(ArgReader& args, const Napi::Value& options);
};

/// Draws an id, feeds it, draws the next one: the engine does not wait for JavaScript, which is woken once for all the steps that are
/// there when it comes.
class GenerateJob : public SessionJob {
 public:
  GenerateJob(Napi::Env env, Session& session, std::vector<int32_t> ids, StepSettings settings,
              GenerateLimits limits, std::shared_ptr<Outbox> outbox);
  /// Numbers that are handed over at most at once.
  static size_t most_values(uint64_t max_tokens);
  /// One step, which may draw several ids.
  void run() override;
  /// Those of one model whose prompts have been fed.
  const void* group() const override { return ids_.size() == 1 ? spiked_session_group(handle_) : nullptr; }
  void run_together(std::span<const std::unique_ptr<Job>> jobs) override;
  bool more() const override { return !over_; }
  void yield() override;
  void progress(Napi::Env env) override { hand_over(env); }

 protected:
  void prepare(Napi::Env env) override;
  Napi::Value value(Napi::Env env) override { return env.Undefined(); }

 private:
  struct Taken {
    spiked_drawn drawn;
    /// Of the pass whose first id this is: ids that were guessed, and how many of them were right. Negative: not such an id.
    int32_t n_guessed = -1, n_right = -1;
  };

  /// Feeds ids, the prompt or one, and draws one.
  void step_alone();
  static void step_together(std::span<GenerateJob* const> jobs);
  /// What the next step of this job is asked.
  spiked_joint_step ask(const spiked_sampling& sampling);
  /// What it gave.
  void accept(const spiked_joint_step& step);
  void accept(const Taken& taken);
  void fail(const spiked_error& error);
  /// True when JavaScript is so far behind that the engine has to wait.
  bool push(const Taken& taken);
  void announce(std::unique_lock<std::mutex>& lock);
  void hand_over(Napi::Env env);
  /// Returns the next row's place. The columns' order is that of native/host/generated-steps.ts.
  double* write_row(const Taken& taken, double* row) const;

  StepSettings settings_;
  GenerateLimits limits_;
  std::shared_ptr<Outbox> outbox_;
  bool over_ = false;                                     // engine thread
  std::array<spiked_drawn, SPIKED_MAX_DRAFT + 1> drawn_;  // engine thread
  std::mutex mutex_;
  std::vector<Taken> waiting_;  // under the mutex
  bool announced_ = false;      // under the mutex
  uint64_t announced_ns_ = 0;   // engine thread
  std::vector<Taken> handed_;   // JS thread
};

}  // namespace spiked::addon

#endif
