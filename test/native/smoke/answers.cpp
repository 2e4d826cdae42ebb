#include <cmath>

#include "check.h"

namespace {

std::vector<int32_t> drawn(Checks& checks, const Opened& on, uint64_t seed, size_t n) {
  spiked_error error{};
  std::vector<int32_t> ids;
  logits_of(checks, on, some_ids(on.info, 4), 4);
  spiked_session_seed(on.session.get(), seed);
  spiked_sampling sampling{};
  sampling.temperature = 0.8f;
  sampling.top_k = 50;
  sampling.top_p = 0.9f;
  sampling.repetition_penalty = 1.1f;
  for (size_t i = 0; i < n; ++i) {
    int32_t id = -1;
    float logprob = 1.0f;
    uint64_t t_ns = 0;
    const spiked_status got =
        spiked_session_sample(on.session.get(), &sampling, &id, &logprob, &t_ns, &error);
    checks.status(got, SPIKED_OK, "session_sample", error);
    checks.that(id >= 0 && static_cast<uint32_t>(id) < on.info.valid_vocab_size,
                "a drawn id is in the vocabulary");
    checks.that(std::isfinite(logprob) && logprob <= 0.0f && t_ns > 0,
                "a drawn id has a log-probability and a time");
    if (got != SPIKED_OK) break;
    ids.push_back(id);
    checks.status(
        spiked_session_forward(on.session.get(), &id, 1, SPIKED_LOGITS_LAST, nullptr, nullptr, &error),
        SPIKED_OK, "session_forward of a drawn id", error);
  }
  return ids;
}

void check_score(Checks& checks, const Opened& on) {
  spiked_error error{};
  const std::vector<int32_t> ids = some_ids(on.info, 6);
  std::vector<double> logprobs(ids.size(), 1.0), masked(ids.size(), -1.0);
  spiked_session_reset(on.session.get(), &error);
  size_t at = 0;
  checks.status(spiked_session_score_pass(on.session.get(), ids.data(), ids.size(), &at, logprobs.data(),
                                          masked.data(), &error),
                SPIKED_OK, "session_score_pass", error);
  checks.that(at == ids.size(), "a few ids are one pass");
  checks.that(logprobs[0] == 0.0 && masked[0] == 0.0, "the first id has no log-probability");
  for (size_t i = 1; i < ids.size(); ++i) {
    checks.that(logprobs[i] < 0.0, "a log-probability is below zero");
    checks.that(masked[i] >= 0.0 && masked[i] < 1.0, "a masked mass is a probability");
  }
}

}  // namespace

void check_answers(Checks& checks, const char* path) {
  const Opened one = open_all(checks, path, 1, "scalar");
  if (!one.ok()) return;
  const std::vector<int32_t> ids = some_ids(one.info, 11);
  const std::vector<float> expected = logits_of(checks, one, ids, ids.size());
  const std::vector<int32_t> tokens = drawn(checks, one, 42, 5);
  for (float x : expected)
    if (!std::isfinite(x)) checks.that(false, "logits are finite");
  check_score(checks, one);

  int32_t supported = 0;
  for (size_t i = 0; const char* isa = spiked_isa(i, &supported); ++i) {
    if (!supported) continue;
    for (uint32_t n_threads : {1u, 2u, 5u}) {
      const Opened on = open_all(checks, path, n_threads, isa);
      if (!on.ok()) continue;
      for (size_t step : {size_t{1}, size_t{3}, ids.size()})
        checks.that(same_bits(logits_of(checks, on, ids, step), expected),
                    "logits are the bits of scalar on one thread",
                    std::string(isa) + ", " + std::to_string(n_threads) + " threads, " +
                        std::to_string(step) + " at a time");
      checks.that(drawn(checks, on, 42, 5) == tokens, "a seed gives the same ids");
    }
  }
}
