#include <unistd.h>

#include <cstring>

#include "check.h"

namespace {

spiked_engine_options options_of(uint32_t n_threads, const char* isa) {
  spiked_engine_options o{};
  o.n_threads = n_threads;
  o.isa = isa;
  return o;
}

spiked_status feed(const Opened& on, const std::vector<int32_t>& ids, spiked_error& error) {
  return spiked_session_forward(on.session.get(), ids.data(), ids.size(), SPIKED_LOGITS_LAST, nullptr,
                                nullptr, &error);
}

uint64_t position(const Opened& on) {
  spiked_session_stats stats{};
  spiked_session_get_stats(on.session.get(), &stats);
  return stats.position;
}

// What the head reads of the last of `ids`, fed `step` at a time.
std::vector<float> hidden_of(Checks& checks, const Opened& on, const std::vector<int32_t>& ids, size_t step) {
  spiked_error error{};
  checks.status(spiked_session_reset(on.session.get(), &error), SPIKED_OK, "reset", error);
  std::vector<float> hidden;
  for (size_t at = 0; at < ids.size(); at += step) {
    const size_t n = ids.size() - at < step ? ids.size() - at : step;
    hidden.resize(n * on.info.embed_dim);
    spiked_trace trace{};
    trace.final_norm = hidden.data();
    checks.status(spiked_session_forward(on.session.get(), ids.data() + at, n, SPIKED_LOGITS_NONE, nullptr,
                                         &trace, &error),
                  SPIKED_OK, "forward", error);
  }
  hidden.erase(hidden.begin(), hidden.end() - static_cast<ptrdiff_t>(on.info.embed_dim));
  return hidden;
}

// Every engine of one kind gives the bits of its scalar self on one thread; low memory mode those of normal.
void one_answer_each(Checks& checks, const char* path) {
  const auto bits = [&](spiked_engine_options o, size_t step) {
    const Opened on = open_with(checks, path, o);
    return on.ok() ? hidden_of(checks, on, some_ids(on.info, 40), step) : std::vector<float>{};
  };
  spiked_engine_options o = options_of(1, "scalar");
  const std::vector<float> normal = bits(o, 40);
  o.kv = SPIKED_KV_F16;
  const std::vector<float> f16 = bits(o, 40);
  checks.that(!f16.empty() && !same_bits(normal, f16), "F16 keys and values are another model");
  int32_t supported = 0;
  for (size_t i = 0; const char* isa = spiked_isa(i, &supported); ++i) {
    if (!supported) continue;
    for (uint32_t n_threads : {1u, 3u})
      for (int32_t memory : {SPIKED_MEMORY_NORMAL, SPIKED_MEMORY_LOW})
        for (int32_t kv : {SPIKED_KV_F32, SPIKED_KV_F16}) {
          o = options_of(n_threads, isa);
          o.memory = memory;
          o.kv = kv;
          checks.that(
              same_bits(bits(o, memory == SPIKED_MEMORY_LOW ? 7 : 40), kv == SPIKED_KV_F16 ? f16 : normal),
              "low memory, F16 keys: the bits of scalar on one thread",
              std::string(isa) + ", " + std::to_string(n_threads) + " threads");
        }
  }
  o = options_of(2, nullptr);
  o.memory = SPIKED_MEMORY_LOW;
  o.loading = SPIKED_LOADING_HUGE_PAGES;
  checks.that(same_bits(bits(o, 7), normal), "low memory, what is in memory copied: the same bits");
  o = options_of(2, nullptr);
  o.contract = SPIKED_CONTRACT_HYPHAE;
  checks.that(!bits(o, 40).empty() && same_bits(bits(o, 40), bits(o, 3)),
              "contract hyphae: the same bits for any split");
}

void low_memory_counts_less(Checks& checks, const char* path) {
  spiked_memory memory[2]{};
  uint64_t table = 0;
  for (int32_t mode : {SPIKED_MEMORY_NORMAL, SPIKED_MEMORY_LOW}) {
    spiked_engine_options o = options_of(1, nullptr);
    o.memory = mode;
    const Opened on = open_with(checks, path, o);
    if (!on.ok()) return;
    spiked_engine_get_memory(on.engine.get(), &memory[mode]);
    table = 2ull * on.info.vocab_size * on.info.embed_dim;
  }
  // Whole pages of it: what shares a page with something else is read.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t saved = memory[0].weights - memory[1].weights;
  checks.that(saved <= 2 * table && saved + 2 * page > table, "low memory: the table is not counted",
              std::to_string(saved) + " of " + std::to_string(table) + " bytes saved");
}

// At its end a session refuses what has no room, feeds nothing of it, and goes on to answer.
void context_ends(Checks& checks, const char* path) {
  spiked_engine_options o = options_of(2, nullptr);
  o.context = 48;
  const Opened on = open_with(checks, path, o);
  if (!on.ok()) return;
  checks.that(on.info.max_context == 48, "the context is the one asked for");
  spiked_error error{};
  const std::vector<int32_t> ids = some_ids(on.info, 49), fits(ids.begin(), ids.end() - 1);
  checks.status(feed(on, ids, error), SPIKED_ERR_CONTEXT_FULL, "a prompt beyond the context", error);
  checks.that(position(on) == 0, "nothing of it is fed", std::to_string(position(on)));
  checks.status(feed(on, fits, error), SPIKED_OK, "a prompt as long as the context", error);
  const spiked_sampling greedy{0, 0, 1, 1, 0, 0, nullptr, 0};
  int32_t id = -1, again = -1;
  checks.status(spiked_session_sample(on.session.get(), &greedy, &id, nullptr, nullptr, &error), SPIKED_OK,
                "an id after the last position", error);
  checks.status(feed(on, {id}, error), SPIKED_ERR_CONTEXT_FULL, "one more", error);
  const spiked_head full{SPIKED_HEAD_FULL, 0, 0, 1, 0, 0};
  spiked_drawn drawn[SPIKED_MAX_DRAFT + 1];
  spiked_joint_step step{};
  step.session = on.session.get();
  step.fed = id;
  step.sampling = &greedy;
  step.head = &full;
  step.max_draft = SPIKED_MAX_DRAFT;
  step.drawn = drawn;
  checks.status(spiked_sessions_step(&step, 1, &error), SPIKED_OK, "a step at the end", error);
  checks.status(step.error.code, SPIKED_ERR_CONTEXT_FULL, "its own error", step.error);
  checks.that(position(on) == 48, "the position stays");
  checks.status(
      spiked_session_next(on.session.get(), &greedy, nullptr, &again, nullptr, nullptr, nullptr, &error),
      SPIKED_OK, "the head still answers", error);
  checks.that(again == id, "the same id");
  std::vector<double> logprobs(ids.size());
  size_t at = 0;
  checks.status(spiked_session_reset(on.session.get(), &error), SPIKED_OK, "reset", error);
  checks.status(spiked_session_score_pass(on.session.get(), ids.data(), ids.size(), &at, logprobs.data(),
                                          nullptr, &error),
                SPIKED_ERR_CONTEXT_FULL, "a text beyond the context", error);
  const Opened other = open_with(checks, path, options_of(1, "scalar"));
  checks.that(same_bits(logits_of(checks, on, fits, 5), logits_of(checks, other, fits, 48)),
              "after a reset the session answers as one with more room");
}

void prefix_and_fork(Checks& checks, const char* path) {
  for (int32_t kv : {SPIKED_KV_F32, SPIKED_KV_F16}) {
    spiked_engine_options o = options_of(2, nullptr);
    o.kv = kv;
    const Opened plain = open_with(checks, path, o);
    o.prefix_cache_bytes = 1u << 22;
    const Opened on = open_with(checks, path, o);
    if (!plain.ok() || !on.ok()) return;
    const std::vector<int32_t> ids = some_ids(on.info, 70);
    const std::vector<float> expected = logits_of(checks, plain, ids, 70);
    checks.that(same_bits(logits_of(checks, on, ids, 70), expected), "with a cache: the same bits");
    checks.that(same_bits(logits_of(checks, on, ids, 70), expected), "from the cache: the same bits");
    spiked_session_stats stats{};
    spiked_session_get_stats(on.session.get(), &stats);
    checks.that(stats.cached_positions == 64, "positions from the cache",
                std::to_string(stats.cached_positions));

    spiked_error error{};
    spiked_session* raw = nullptr;
    checks.status(spiked_session_fork(on.session.get(), &raw, &error), SPIKED_OK, "fork", error);
    const Session fork(raw);
    std::vector<float> a(on.info.vocab_size), b(on.info.vocab_size);
    const int32_t more[] = {5, 9, 1};
    for (const auto& [session, out] : {std::pair{on.session.get(), &a}, std::pair{fork.get(), &b}})
      checks.status(
          spiked_session_forward(session, more, 3, SPIKED_LOGITS_LAST, out->data(), nullptr, &error),
          SPIKED_OK, "forward after a fork", error);
    checks.that(same_bits(a, b), "a fork goes on as its origin");
  }
}

void refused(Checks& checks, const char* path) {
  spiked_error error{};
  spiked_engine* engine = nullptr;
  spiked_engine_options o = options_of(1, nullptr);
  o.context = 1u << 20;
  checks.status(spiked_engine_open(&o, &engine, &error), SPIKED_OK, "an engine of a large context", error);
  const Engine owned(engine);
  spiked_model* model = nullptr;
  checks.status(spiked_model_open(engine, path, &model, &error), SPIKED_ERR_INVALID_ARGUMENT,
                "a context beyond the model's", error);
}

}  // namespace

void check_ternary(Checks& checks, const char* path) {
  const Opened on = open_with(checks, path, options_of(1, nullptr));
  if (!on.ok()) return;
  if (!is_ternary(on.info)) {
    for (int which = 0; which < 3; ++which) {
      spiked_engine_options o = options_of(1, nullptr);
      (which == 0 ? o.kv : which == 1 ? o.memory : o.contract) = 1;
      spiked_error error{};
      spiked_engine* engine = nullptr;
      checks.status(spiked_engine_open(&o, &engine, &error), SPIKED_OK, "engine_open", error);
      const Engine owned(engine);
      spiked_model* model = nullptr;
      checks.status(spiked_model_open(engine, path, &model, &error), SPIKED_ERR_MODEL_UNSUPPORTED,
                    "a setting of ternary models", error);
    }
    return;
  }
  one_answer_each(checks, path);
  low_memory_counts_less(checks, path);
  context_ends(checks, path);
  prefix_and_fork(checks, path);
  refused(checks, path);
}
