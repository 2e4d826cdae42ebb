// Steps that guess ids and verify them draw what steps without draw, and leave the session as they would.
#include <algorithm>

#include "check.h"

namespace {

/// How a text is continued.
struct Run {
  const char* name;
  std::vector<int32_t> prompt;
  size_t n_allowed;  ///< ids that are not banned; few make texts that repeat
  float penalty;
  spiked_head head;
};

struct Text {
  std::vector<int32_t> ids;                ///< drawn
  std::vector<std::vector<float>> states;  ///< after each id; empty where none was taken
};

/// Guesses and how they came out, over all runs.
struct Outcomes {
  size_t right = 0, wrong = 0, cut_by_stop = 0;
};

constexpr size_t kIds = 60;
// A ternary model's state is seen on a fork, which costs more than the step.
constexpr size_t kForkEvery = 7;

std::vector<int32_t> banned_in(const Opened& on, const Run& run) {
  std::vector<int32_t> banned;
  for (uint32_t id = static_cast<uint32_t>(run.n_allowed); id < on.info.vocab_size; ++id)
    banned.push_back(static_cast<int32_t>(id));
  return banned;
}

spiked_sampling sampling_of(const Run& run, const std::vector<int32_t>& banned) {
  return {0, 0, 1, run.penalty, 0, 0, banned.data(), banned.size()};
}

/// All but the prompt's last id.
void begin(Checks& checks, const Opened& on, const Run& run) {
  spiked_error error{};
  checks.status(spiked_session_reset(on.session.get(), &error), SPIKED_OK, "session_reset", error);
  if (run.prompt.size() > 1)
    checks.status(spiked_session_forward(on.session.get(), run.prompt.data(), run.prompt.size() - 1,
                                         SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
                  SPIKED_OK, "forward of a prompt", error);
}

Text plain(Checks& checks, const Opened& on, const Run& run) {
  const std::vector<int32_t> banned = banned_in(on, run);
  const spiked_sampling sampling = sampling_of(run, banned);
  begin(checks, on, run);
  Text out;
  spiked_error error{};
  int32_t id = run.prompt.back();
  while (out.ids.size() < kIds) {
    checks.status(
        spiked_session_forward(on.session.get(), &id, 1, SPIKED_LOGITS_NONE, nullptr, nullptr, &error),
        SPIKED_OK, "forward", error);
    checks.status(
        spiked_session_next(on.session.get(), &sampling, &run.head, &id, nullptr, nullptr, nullptr, &error),
        SPIKED_OK, "next", error);
    out.ids.push_back(id);
    out.states.push_back(is_ternary(on.info) && out.ids.size() % kForkEvery != 0
                             ? std::vector<float>{}
                             : state_of(checks, on.info, on.session.get()));
  }
  return out;
}

void same_state(Checks& checks, const Opened& on, const Text& expected, size_t n_ids, const char* what,
                const Run& run) {
  const std::vector<float>& state = expected.states[n_ids - 1];
  if (!state.empty())
    checks.that(same_bits(state_of(checks, on.info, on.session.get()), state), what, run.name);
}

/// Until there are n ids, or a stop id. The state is compared after every step.
std::vector<int32_t> drafted(Checks& checks, const Opened& on, const Run& run, const Text& expected,
                             uint32_t max_draft, size_t n, const int32_t* stop, Outcomes& outcomes) {
  const std::vector<int32_t> banned = banned_in(on, run);
  const spiked_sampling sampling = sampling_of(run, banned);
  begin(checks, on, run);
  std::vector<int32_t> out;
  spiked_error error{};
  spiked_drawn drawn[SPIKED_MAX_DRAFT + 1];
  spiked_joint_step step{};
  step.session = on.session.get();
  step.sampling = &sampling;
  step.head = &run.head;
  step.stop_ids = stop;
  step.n_stop_ids = stop == nullptr ? 0 : 1;
  step.drawn = drawn;
  step.fed = run.prompt.back();
  while (out.size() < n && (stop == nullptr || out.empty() || out.back() != *stop)) {
    step.max_draft = static_cast<uint32_t>(std::min<size_t>(max_draft, n - out.size() - 1));
    checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_OK, "sessions_step", error);
    checks.status(step.error.code, SPIKED_OK, "a step with a draft", step.error);
    if (step.n_drawn == 0) return out;
    for (size_t i = 0; i < step.n_drawn; ++i) {
      out.push_back(drawn[i].id);
      checks.that(drawn[i].stats.position == run.prompt.size() - 1 + out.size(), "the position of each id");
    }
    spiked_session_stats stats{};
    spiked_session_get_stats(on.session.get(), &stats);
    checks.that(stats.position == run.prompt.size() - 1 + out.size(),
                "the session stands after what is right");
    checks.that(step.n_drawn <= 1 + step.n_guessed && step.n_guessed <= step.max_draft, "no more than asked");
    if (out.size() > kIds) return out;
    same_state(checks, on, expected, out.size(), "the state after every step is that without drafts", run);
    outcomes.right += step.n_drawn - 1;
    outcomes.wrong += step.n_guessed - (step.n_drawn - 1);
    step.fed = out.back();
    if (stop != nullptr && step.fed == *stop && step.n_drawn < 1 + step.n_guessed) ++outcomes.cut_by_stop;
  }
  return out;
}

std::vector<Run> runs(const Opened& on) {
  const spiked_head full{SPIKED_HEAD_FULL, 0, 0, 1, 0, 0},
      gate{SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_PROJECTION, 4, 1e30f, 0},
      topk{SPIKED_HEAD_TOPK, 0, 0, 4, 0, 0},
      certified{SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0};
  std::vector<int32_t> loop, varied = some_ids(on.info, 40);
  for (int32_t i = 0; i < 48; ++i) loop.push_back(2 + i % 5);
  return {{"one id", {1}, on.info.vocab_size, 1, full},
          {"a loop", loop, on.info.vocab_size, 1, full},
          {"three ids", {1, 2}, 3, 1, full},
          {"a penalty", loop, 4, 1.2f, full},
          {"varied", varied, on.info.vocab_size, 1, full},
          {"gate or topk", loop, 3, 1, served(on, {gate, topk})},
          {"certified", {2, 1}, 3, 1.1f, served(on, {certified})}};
}

void same_as_without(Checks& checks, const char* path, const spiked_engine_options& options,
                     Outcomes& outcomes) {
  const Opened on = open_with(checks, path, options);
  if (!on.ok()) return;
  // Ternary steps take longer, above all where the machine is emulated.
  const size_t sparse = is_ternary(on.info) ? 3 : 1;
  for (const Run& run : runs(on)) {
    const Text expected = plain(checks, on, run);
    const std::vector<float> future = future_of(checks, on.info, on.session.get());
    for (uint32_t max_draft : {1u, 3u, 7u}) {
      const auto found = drafted(checks, on, run, expected, max_draft, kIds, nullptr, outcomes);
      checks.that(found == expected.ids, "the ids are those without drafts", run.name);
      checks.that(same_bits(future_of(checks, on.info, on.session.get()), future), "what follows is the same",
                  run.name);
    }
    // Places where it could end.
    for (size_t n = 1; n <= kIds; n += 11 * sparse) {
      const auto found = drafted(checks, on, run, expected, SPIKED_MAX_DRAFT, n, nullptr, outcomes);
      checks.that(std::equal(found.begin(), found.end(), expected.ids.begin()) && found.size() == n,
                  "it ends at the number that was asked for", run.name);
    }
    for (size_t at = 0; at < kIds; at += 6 * sparse) {
      const int32_t stop = expected.ids[at];
      const auto end = std::find(expected.ids.begin(), expected.ids.end(), stop) + 1;
      const auto found = drafted(checks, on, run, expected, SPIKED_MAX_DRAFT, kIds, &stop, outcomes);
      checks.that(found == std::vector<int32_t>(expected.ids.begin(), end), "it ends with the stop id",
                  run.name);
    }
  }
}

/// Drafts of several sessions share a pass.
void among_others(Checks& checks, const char* path, const spiked_engine_options& options) {
  const Opened on = open_with(checks, path, options);
  if (!on.ok()) return;
  const std::vector<Run> all = runs(on);
  spiked_error error{};
  std::vector<Text> expected;
  std::vector<Opened> others;
  std::vector<std::vector<int32_t>> banned, found(all.size());
  std::vector<spiked_sampling> samplings;
  for (const Run& run : all) {
    expected.push_back(plain(checks, on, run));
    spiked_session* raw = nullptr;
    checks.status(spiked_session_open(on.model.get(), &raw, &error), SPIKED_OK, "session_open", error);
    Opened other;
    other.session.reset(raw);
    other.info = on.info;
    begin(checks, other, run);
    others.push_back(std::move(other));
    banned.push_back(banned_in(on, run));
  }
  for (size_t i = 0; i < all.size(); ++i) samplings.push_back(sampling_of(all[i], banned[i]));
  size_t most = 0;
  for (bool more = true; more;) {
    std::vector<spiked_joint_step> steps;
    std::vector<std::vector<spiked_drawn>> drawn(all.size(), std::vector<spiked_drawn>(SPIKED_MAX_DRAFT + 1));
    std::vector<size_t> who;
    for (size_t i = 0; i < all.size(); ++i) {
      if (found[i].size() == kIds) continue;
      spiked_joint_step step{};
      step.session = others[i].session.get();
      step.fed = found[i].empty() ? all[i].prompt.back() : found[i].back();
      step.sampling = &samplings[i];
      step.head = &all[i].head;
      step.max_draft = static_cast<uint32_t>(std::min<size_t>(SPIKED_MAX_DRAFT, kIds - found[i].size() - 1));
      step.drawn = drawn[i].data();
      steps.push_back(step);
      who.push_back(i);
    }
    more = !steps.empty();
    if (!more) break;
    checks.status(spiked_sessions_step(steps.data(), steps.size(), &error), SPIKED_OK, "sessions_step",
                  error);
    size_t fed = 0;
    for (size_t k = 0; k < steps.size(); ++k) {
      checks.status(steps[k].error.code, SPIKED_OK, "a joint step with a draft", steps[k].error);
      if (steps[k].n_drawn == 0) return;
      for (size_t i = 0; i < steps[k].n_drawn; ++i) found[who[k]].push_back(drawn[who[k]][i].id);
      fed += 1 + steps[k].n_guessed;
      same_state(checks, others[who[k]], expected[who[k]], found[who[k]].size(),
                 "the state among others is that alone", all[who[k]]);
    }
    checks.that(fed <= SPIKED_MAX_JOINT, "no more ids than a pass has room for");
    most = std::max(most, fed);
  }
  for (size_t i = 0; i < all.size(); ++i)
    checks.that(found[i] == expected[i].ids, "the ids among others are those alone", all[i].name);
  checks.that(most > all.size(), "drafts share a pass");
}

void refused(Checks& checks, const char* path) {
  const Opened on = open_all(checks, path, 1, nullptr);
  if (!on.ok()) return;
  spiked_error error{};
  spiked_drawn drawn[SPIKED_MAX_DRAFT + 1];
  const spiked_sampling greedy{0, 0, 1, 1, 0, 0, nullptr, 0}, warm{1, 0, 1, 1, 0, 0, nullptr, 0};
  spiked_joint_step step{};
  step.session = on.session.get();
  step.fed = 1;
  step.sampling = &greedy;
  step.drawn = drawn;
  step.max_draft = SPIKED_MAX_DRAFT + 1;
  checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_ERR_INVALID_ARGUMENT, "too long a draft",
                error);
  step.max_draft = SPIKED_MAX_DRAFT;
  step.drawn = nullptr;
  checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_ERR_INVALID_ARGUMENT, "nowhere to draw to",
                error);
  step.drawn = drawn;
  // A text that repeats, so that there would be something to guess.
  for (int i = 0; i < 20; ++i) {
    step.sampling = i % 2 == 0 ? &warm : &greedy;
    step.want_logprob = i % 2;
    step.fed = 1 + i % 4;
    checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_OK, "sessions_step", error);
    checks.that(step.n_guessed == 0 && step.n_drawn == 1, "no draft where an id is drawn or wants its log");
  }
  spiked_session_cancel(on.session.get());
  checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_OK, "sessions_step", error);
  checks.status(step.error.code, SPIKED_ERR_CANCELLED, "a cancelled session", step.error);
}

}  // namespace

void check_drafts(Checks& checks, const char* path) {
  Outcomes outcomes;
  const std::vector<spiked_engine_options> on = spread(checks, path);
  for (const spiked_engine_options& options : on) same_as_without(checks, path, options, outcomes);
  // Of four engines more than ten were cut, of two more than five.
  checks.that(outcomes.right > 100 && outcomes.wrong > 100 && 2 * outcomes.cut_by_stop > 5 * on.size(),
              "guesses come out right and wrong",
              std::to_string(outcomes.right) + " right, " + std::to_string(outcomes.wrong) + " wrong, " +
                  std::to_string(outcomes.cut_by_stop) + " cut by a stop id");
  for (const spiked_engine_options& options : engines(checks, path, 2)) among_others(checks, path, options);
  refused(checks, path);
}
