#include <cstdlib>
#include <cstring>

#include "check.h"

namespace {

void refuse_engine(Checks& checks, const spiked_engine_options& options, spiked_status expected) {
  spiked_error error{};
  spiked_engine* engine = nullptr;
  checks.status(spiked_engine_open(&options, &engine, &error), expected, "a refused engine", error);
  checks.that(engine == nullptr, "a refused engine gives no handle");
  checks.that(error.code == expected && std::strlen(error.message) > 0, "the error is filled");
}

void refuse_file(Checks& checks, spiked_engine* engine, const char* path, spiked_status expected) {
  spiked_error error{};
  spiked_model* model = nullptr;
  checks.status(spiked_model_open(engine, path, &model, &error), expected, "a refused file", error);
  checks.that(model == nullptr && std::strstr(error.message, path) != nullptr, "the error names the file",
              error.message);
  checks.that(spiked_model_open(engine, path, &model, nullptr) == expected, "error may be NULL");
}

}  // namespace

void check_refusals(Checks& checks, const char* path) {
  refuse_engine(checks, {257, nullptr, 0, nullptr, 0, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_INVALID_ARGUMENT);
  refuse_engine(checks, {1, "mmx", 0, nullptr, 0, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_ISA_UNSUPPORTED);
  refuse_engine(checks, {1, nullptr, 3, nullptr, 0, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_INVALID_ARGUMENT);
  refuse_engine(checks, {1, nullptr, 0, "4-", 0, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_INVALID_ARGUMENT);
  refuse_engine(checks, {1, nullptr, 0, "4095", 0, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_INVALID_ARGUMENT);
  refuse_engine(checks, {1, nullptr, 0, nullptr, 4, 0, 0, 0, 0, 0, 0, 0}, SPIKED_ERR_INVALID_ARGUMENT);
  refuse_engine(checks, {1, nullptr, 0, nullptr, 0, 0, 64, 0, 0, 0, 0, 0}, SPIKED_ERR_RAM_BUDGET);

  const Opened on = open_all(checks, path, 2, nullptr);
  if (!on.ok()) return;
  refuse_file(checks, on.engine.get(), "/nowhere/model.gguf", SPIKED_ERR_FILE_NOT_FOUND);
  refuse_file(checks, on.engine.get(), "/", SPIKED_ERR_FILE_IO);
  refuse_file(checks, on.engine.get(), "/proc/self/exe", SPIKED_ERR_MODEL_INVALID);

  spiked_error error{};
  const int32_t outside[] = {0, static_cast<int32_t>(on.info.vocab_size)}, negative[] = {-1};
  const auto forward = [&](const int32_t* ids, size_t n) {
    return spiked_session_forward(on.session.get(), ids, n, SPIKED_LOGITS_NONE, nullptr, nullptr, &error);
  };
  checks.status(forward(outside, 2), SPIKED_ERR_TOKEN_UNKNOWN, "an id outside the vocabulary", error);
  checks.status(forward(negative, 1), SPIKED_ERR_TOKEN_UNKNOWN, "a negative id", error);
  checks.status(forward(outside, 0), SPIKED_ERR_PROMPT_EMPTY, "no id", error);
  checks.status(forward(outside, 1), SPIKED_OK, "a good id after refusals", error);
  spiked_session_stats stats{};
  spiked_session_get_stats(on.session.get(), &stats);
  checks.that(stats.position == 1, "refused ids are not fed", std::to_string(stats.position));

  spiked_sampling sampling{};
  sampling.top_p = 1.0f;
  sampling.repetition_penalty = 1.0f;
  int32_t id = 0;
  for (float temperature : {-1.0f, __builtin_nanf("")}) {
    sampling.temperature = temperature;
    checks.status(spiked_session_sample(on.session.get(), &sampling, &id, nullptr, nullptr, &error),
                  SPIKED_ERR_INVALID_ARGUMENT, "a wrong temperature", error);
  }
}
