#include <cstring>

#include "check.h"

Opened open_all(Checks& checks, const char* path, uint32_t n_threads, const char* isa) {
  spiked_engine_options options{};
  options.n_threads = n_threads;
  options.isa = isa;
  return open_with(checks, path, options);
}

Opened open_with(Checks& checks, const char* path, const spiked_engine_options& options) {
  Opened on;
  spiked_error error{};
  spiked_engine* engine = nullptr;
  checks.status(spiked_engine_open(&options, &engine, &error), SPIKED_OK, "engine_open", error);
  on.engine.reset(engine);
  if (engine == nullptr) return on;
  spiked_model* model = nullptr;
  checks.status(spiked_model_open(engine, path, &model, &error), SPIKED_OK, "model_open", error);
  on.model.reset(model);
  if (model == nullptr) return on;
  spiked_model_get_info(model, &on.info);
  spiked_session* session = nullptr;
  checks.status(spiked_session_open(model, &session, &error), SPIKED_OK, "session_open", error);
  on.session.reset(session);
  return on;
}

bool is_ternary(const spiked_model_info& info) { return std::strcmp(info.weights, "i2_s") == 0; }

std::vector<spiked_engine_options> engines(Checks& checks, const char* path, uint32_t n_threads) {
  spiked_engine_options defaults{};
  defaults.n_threads = n_threads;
  if (!is_ternary(open_all(checks, path, 1, nullptr).info)) return {defaults};
  spiked_engine_options other = defaults;
  other.kv = SPIKED_KV_F16;
  other.memory = SPIKED_MEMORY_LOW;
  other.head_bits = 4;
  return {defaults, other};
}

std::vector<spiked_engine_options> spread(Checks& checks, const char* path) {
  const std::vector<spiked_engine_options> two = engines(checks, path, 2);
  if (two.size() > 1) return {engines(checks, path, 1).back(), two.front()};
  spiked_engine_options scalar{};
  scalar.n_threads = 1;
  scalar.isa = "scalar";
  std::vector<spiked_engine_options> out{scalar};
  for (uint32_t n_threads : {1u, 2u, 3u}) out.push_back(engines(checks, path, n_threads).front());
  return out;
}

spiked_head served(const Opened& on, std::initializer_list<spiked_head> heads) {
  spiked_error error{};
  for (const spiked_head& head : heads)
    if (spiked_model_check_head(on.model.get(), &head, &error) == SPIKED_OK) return head;
  return {SPIKED_HEAD_FULL, 0, 0, 1, 0, 0};
}

std::vector<float> state_of(Checks& checks, const spiked_model_info& info, const spiked_session* session) {
  if (is_ternary(info)) return future_of(checks, info, session);
  std::vector<float> state(info.embed_dim * (1 + static_cast<size_t>(info.n_layers)));
  spiked_error error{};
  checks.status(spiked_session_membrane(session, state.data(), &error), SPIKED_OK, "membrane", error);
  checks.status(spiked_session_decay(session, state.data() + info.embed_dim, &error), SPIKED_OK, "decay",
                error);
  return state;
}

std::vector<float> future_of(Checks& checks, const spiked_model_info& info, const spiked_session* session) {
  spiked_error error{};
  spiked_session* fork = nullptr;
  checks.status(spiked_session_fork(session, &fork, &error), SPIKED_OK, "session_fork", error);
  const Session owned(fork);
  std::vector<float> logits(info.vocab_size);
  const int32_t next[] = {7, 9, 3};
  checks.status(spiked_session_forward(fork, next, 3, SPIKED_LOGITS_LAST, logits.data(), nullptr, &error),
                SPIKED_OK, "forward of a fork", error);
  return logits;
}

std::vector<float> logits_of(Checks& checks, const Opened& on, const std::vector<int32_t>& ids, size_t step) {
  spiked_error error{};
  checks.status(spiked_session_reset(on.session.get(), &error), SPIKED_OK, "session_reset", error);
  std::vector<float> logits(on.info.vocab_size);
  for (size_t at = 0; at < ids.size(); at += step) {
    const size_t n = ids.size() - at < step ? ids.size() - at : step;
    const spiked_status got = spiked_session_forward(on.session.get(), ids.data() + at, n, SPIKED_LOGITS_LAST,
                                                     logits.data(), nullptr, &error);
    checks.status(got, SPIKED_OK, "session_forward", error);
    if (got != SPIKED_OK) return {};
  }
  return logits;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<int32_t> some_ids(const spiked_model_info& info, size_t n) {
  std::vector<int32_t> ids(n);
  for (size_t i = 0; i < n; ++i) ids[i] = static_cast<int32_t>((i * 7919 + 3) % info.valid_vocab_size);
  return ids;
}
