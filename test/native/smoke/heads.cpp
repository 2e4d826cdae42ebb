#include <iterator>

#include "check.h"

namespace {

constexpr spiked_head kHeads[] = {
    {SPIKED_HEAD_SCAN, SPIKED_ACTIVATIONS_F32, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_SCAN, SPIKED_ACTIVATIONS_I16, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_PROJECTION, 4, 1e30f, 0},
    {SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 7, 1e30f, 0},
    {SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 1},
    {SPIKED_HEAD_TOPK, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_TOPK, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 5, 0, 0},
};

// Every mode at every position of a short text, and on hidden states of the caller's; certified is compared with full. Returns all ids.
std::vector<int32_t> heads_on(Checks& checks, const char* path, const spiked_engine_options& options,
                              const spiked_sampling& sampling) {
  std::vector<int32_t> ids;
  const Opened on = open_with(checks, path, options);
  if (!on.ok()) return ids;
  spiked_error error{};
  std::vector<spiked_head> heads(std::begin(kHeads), std::end(kHeads));
  spiked_head& all = heads.emplace_back(spiked_head{SPIKED_HEAD_TOPK, 0, 0, on.info.vocab_size, 0, 0});
  std::vector<float> hidden(on.info.embed_dim);
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = static_cast<float>(i % 7) - 3.0f;
  for (int32_t id : some_ids(on.info, 6)) {
    checks.status(
        spiked_session_forward(on.session.get(), &id, 1, SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
        SPIKED_OK, "forward", error);
    for (const spiked_head& head : heads) {
      // F32 weights have no quantised products, F16 ones only topk's.
      if (spiked_model_check_head(on.model.get(), &head, &error) == SPIKED_ERR_MODEL_UNSUPPORTED) continue;
      int32_t full = 0, found = 0;
      spiked_head_step step{};
      spiked_session_seed(on.session.get(), 3);
      checks.status(
          spiked_session_next(on.session.get(), &sampling, nullptr, &full, nullptr, nullptr, nullptr, &error),
          SPIKED_OK, "the full head", error);
      spiked_session_seed(on.session.get(), 3);
      checks.status(
          spiked_session_next(on.session.get(), &sampling, &head, &found, nullptr, nullptr, &step, &error),
          SPIKED_OK, "a head", error);
      checks.that(step.mode == head.mode, "the head that was asked for ran");
      if (step.proved != 0) checks.that(found == full, "a proved id is full's");
      if (&head == &all) checks.that(found == full && step.rows > 0, "topk of every row is full");
      ids.push_back(found);
      checks.status(
          spiked_session_choose(on.session.get(), hidden.data(), &sampling, &head, &found, &step, &error),
          SPIKED_OK, "a hidden state of the caller's", error);
      ids.push_back(found);
    }
  }
  spiked_head wrong = served(on, {kHeads[2], all});
  wrong.k = 0;
  int32_t id = 0;
  if (wrong.mode != SPIKED_HEAD_FULL)
    checks.status(
        spiked_session_next(on.session.get(), &sampling, &wrong, &id, nullptr, nullptr, nullptr, &error),
        SPIKED_ERR_INVALID_ARGUMENT, "candidates of no rows", error);
  return ids;
}

// The ids of one thread in normal memory are those of more threads and of low memory; a table of other bits has candidates of its own.
void same_ids(Checks& checks, const char* path, const spiked_sampling& sampling, uint32_t head_bits,
              bool ternary) {
  spiked_engine_options options{};
  options.n_threads = 1;
  options.head_bits = head_bits;
  const std::vector<int32_t> expected = heads_on(checks, path, options, sampling);
  options.n_threads = 2;
  checks.that(heads_on(checks, path, options, sampling) == expected, "heads on two threads: the same ids");
  options.memory = SPIKED_MEMORY_LOW;
  if (ternary)
    checks.that(heads_on(checks, path, options, sampling) == expected, "heads in low memory: the same ids");
}

}  // namespace

void check_heads(Checks& checks, const char* path) {
  const int32_t banned[] = {1, 5};
  const spiked_sampling greedy{0, 0, 1, 1, 0, 0, nullptr, 0}, masked{0, 0, 1, 1.3f, 0, 0, banned, 2},
      drawn{0.8f, 3, 0.9f, 1, 0, 0, nullptr, 0};
  const bool ternary = is_ternary(open_all(checks, path, 1, nullptr).info);
  for (const spiked_sampling& sampling : {greedy, masked, drawn})
    same_ids(checks, path, sampling, 8, ternary);
  if (ternary) same_ids(checks, path, masked, 4, ternary);
}
