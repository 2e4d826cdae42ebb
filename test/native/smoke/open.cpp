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
