#include <cstring>

#include "check.h"

namespace {

struct Sequence {
  Session session;
  spiked_sampling sampling;
  spiked_head head;
  bool want_logprob;
};

struct Taken {
  int32_t id;
  float logprob;
  uint32_t rows;
  bool operator==(const Taken&) const = default;
};

constexpr size_t kSteps = 12;

// Sequences that differ in all that they may: prompt and its length, sampling, head.
std::vector<Sequence> sequences(Checks& checks, const Opened& on, size_t n) {
  static const int32_t banned[] = {1, 5};
  const spiked_sampling samplings[] = {{0, 0, 1, 1, 0, 0, nullptr, 0},
                                       {0.8f, 50, 0.9f, 1, 0, 0, nullptr, 0},
                                       {0, 0, 1, 1.3f, 0, 0, banned, 2}};
  const spiked_head full{SPIKED_HEAD_FULL, 0, 0, 1, 0, 0},
      gate{SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_PROJECTION, 4, 1e30f, 0},
      topk{SPIKED_HEAD_TOPK, 0, 0, 4, 0, 0},
      certified{SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0};
  const spiked_head heads[] = {full, full, served(on, {gate, topk}), full, served(on, {certified})};
  std::vector<Sequence> out;
  spiked_error error{};
  for (size_t i = 0; i < n; ++i) {
    spiked_session* raw = nullptr;
    checks.status(spiked_session_open(on.model.get(), &raw, &error), SPIKED_OK, "session_open", error);
    Sequence s{Session(raw), samplings[i % 3], heads[i % 5], i % 4 == 3};
    std::vector<int32_t> ids = some_ids(on.info, 3 + 7 * i);
    ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(i));
    spiked_session_seed(raw, i);
    checks.status(
        spiked_session_forward(raw, ids.data(), ids.size(), SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
        SPIKED_OK, "forward of a prompt", error);
    out.push_back(std::move(s));
  }
  return out;
}

int32_t first_id(size_t i) { return static_cast<int32_t>(i) + 2; }

std::vector<std::vector<Taken>> alone(Checks& checks, std::vector<Sequence>& all) {
  std::vector<std::vector<Taken>> out(all.size());
  spiked_error error{};
  for (size_t i = 0; i < all.size(); ++i) {
    Sequence& s = all[i];
    int32_t fed = first_id(i);
    for (size_t k = 0; k < kSteps; ++k) {
      Taken taken{};
      spiked_head_step step{};
      checks.status(
          spiked_session_forward(s.session.get(), &fed, 1, SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
          SPIKED_OK, "forward alone", error);
      checks.status(spiked_session_next(s.session.get(), &s.sampling, &s.head, &taken.id,
                                        s.want_logprob ? &taken.logprob : nullptr, nullptr, &step, &error),
                    SPIKED_OK, "next alone", error);
      taken.rows = step.rows;
      out[i].push_back(taken);
      fed = taken.id;
    }
  }
  return out;
}

spiked_joint_step joint(const Sequence& s, int32_t fed, spiked_drawn& drawn) {
  spiked_joint_step step{};
  step.session = s.session.get();
  step.fed = fed;
  step.sampling = &s.sampling;
  step.head = &s.head;
  step.want_logprob = s.want_logprob ? 1 : 0;
  step.drawn = &drawn;
  return step;
}

std::vector<std::vector<Taken>> together(Checks& checks, std::vector<Sequence>& all) {
  std::vector<std::vector<Taken>> out(all.size());
  std::vector<int32_t> fed;
  for (size_t i = 0; i < all.size(); ++i) fed.push_back(first_id(i));
  spiked_error error{};
  for (size_t k = 0; k < kSteps; ++k) {
    std::vector<spiked_joint_step> steps;
    std::vector<spiked_drawn> drawn(all.size());
    for (size_t i = 0; i < all.size(); ++i) steps.push_back(joint(all[i], fed[i], drawn[i]));
    checks.status(spiked_sessions_step(steps.data(), steps.size(), &error), SPIKED_OK, "sessions_step",
                  error);
    for (size_t i = 0; i < all.size(); ++i) {
      checks.status(steps[i].error.code, SPIKED_OK, "a joint step", steps[i].error);
      checks.that(steps[i].n_drawn == 1, "a step without a draft draws one id");
      out[i].push_back({drawn[i].id, drawn[i].logprob, drawn[i].head_step.rows});
      fed[i] = drawn[i].id;
    }
  }
  spiked_session_stats stats{};
  spiked_session_get_stats(all[0].session.get(), &stats);
  checks.that(stats.batch == all.size(), "the stats say how many stepped together");
  return out;
}

void same_as_alone(Checks& checks, const char* path, const spiked_engine_options& options, size_t n) {
  const Opened on = open_with(checks, path, options);
  if (!on.ok()) return;
  std::vector<Sequence> one = sequences(checks, on, n), other = sequences(checks, on, n);
  const auto expected = alone(checks, one), found = together(checks, other);
  for (size_t i = 0; i < n; ++i) {
    checks.that(expected[i] == found[i], "a sequence gives the same ids among others as alone");
    checks.that(same_bits(state_of(checks, on.info, one[i].session.get()),
                          state_of(checks, on.info, other[i].session.get())),
                "a sequence's state is the same among others as alone");
  }
}

// One that cannot go on leaves the others as they are.
void own_errors(Checks& checks, const char* path) {
  const Opened on = open_all(checks, path, 2, nullptr);
  if (!on.ok()) return;
  std::vector<Sequence> one = sequences(checks, on, 3), other = sequences(checks, on, 3);
  const auto expected = alone(checks, one);
  spiked_session_cancel(other[1].session.get());
  spiked_drawn drawn[3];
  spiked_joint_step steps[] = {joint(other[0], -1, drawn[0]), joint(other[1], first_id(1), drawn[1]),
                               joint(other[2], first_id(2), drawn[2])};
  spiked_error error{};
  checks.status(spiked_sessions_step(steps, 3, &error), SPIKED_OK, "sessions_step", error);
  checks.status(steps[0].error.code, SPIKED_ERR_TOKEN_UNKNOWN, "an id that does not exist", steps[0].error);
  checks.status(steps[1].error.code, SPIKED_ERR_CANCELLED, "a cancelled session", steps[1].error);
  checks.status(steps[2].error.code, SPIKED_OK, "its neighbour", steps[2].error);
  checks.that(drawn[2].id == expected[2][0].id, "the neighbour's id is the one it gets alone");

  steps[1] = steps[0];
  checks.status(spiked_sessions_step(steps, 2, &error), SPIKED_ERR_INVALID_ARGUMENT, "a session twice",
                error);
  checks.status(spiked_sessions_step(steps, 0, &error), SPIKED_ERR_INVALID_ARGUMENT, "no session", error);
  const Opened foreign = open_all(checks, path, 1, nullptr);
  steps[1].session = foreign.session.get();
  checks.status(spiked_sessions_step(steps, 2, &error), SPIKED_ERR_INVALID_ARGUMENT, "two models", error);
}

}  // namespace

void check_together(Checks& checks, const char* path) {
  for (const spiked_engine_options& options : spread(checks, path))
    for (size_t n : {1u, 2u, 5u, 11u}) same_as_alone(checks, path, options, n);
  own_errors(checks, path);
}
