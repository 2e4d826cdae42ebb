#include <cstring>

#include "check.h"

namespace {

constexpr spiked_head kHeads[] = {
    {SPIKED_HEAD_SCAN, SPIKED_ACTIVATIONS_F32, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_SCAN, SPIKED_ACTIVATIONS_I16, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_PROJECTION, 4, 1e30f, 0},
    {SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 7, 1e30f, 0},
    {SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0},
    {SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 1},
};

// Every mode at every position of a short text, and on hidden states of the caller's; certified is compared with full.
void heads_on(Checks& checks, const char* path, uint32_t n_threads, const spiked_sampling& sampling) {
  const Opened on = open_all(checks, path, n_threads, nullptr);
  if (!on.ok()) return;
  spiked_error error{};
  std::vector<float> hidden(on.info.embed_dim);
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = static_cast<float>(i % 7) - 3.0f;
  for (int32_t id : some_ids(on.info, 6)) {
    checks.status(
        spiked_session_forward(on.session.get(), &id, 1, SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
        SPIKED_OK, "forward", error);
    for (const spiked_head& head : kHeads) {
      // f32 weights have no quantised products.
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
      checks.status(
          spiked_session_choose(on.session.get(), hidden.data(), &sampling, &head, &found, &step, &error),
          SPIKED_OK, "a hidden state of the caller's", error);
    }
  }
  spiked_head wrong = kHeads[2];
  wrong.k = 0;
  int32_t id = 0;
  if (spiked_model_check_head(on.model.get(), &kHeads[2], &error) == SPIKED_OK)
    checks.status(
        spiked_session_next(on.session.get(), &sampling, &wrong, &id, nullptr, nullptr, nullptr, &error),
        SPIKED_ERR_INVALID_ARGUMENT, "a gate of no rows", error);
}

}  // namespace

void check_heads(Checks& checks, const char* path) {
  const int32_t banned[] = {1, 5};
  const spiked_sampling greedy{0, 0, 1, 1, 0, 0, nullptr, 0}, masked{0, 0, 1, 1.3f, 0, 0, banned, 2},
      drawn{0.8f, 3, 0.9f, 1, 0, 0, nullptr, 0};
  for (uint32_t n_threads : {1u, 2u})
    for (const spiked_sampling& sampling : {greedy, masked, drawn})
      heads_on(checks, path, n_threads, sampling);
}
