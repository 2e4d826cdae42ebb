// One input of the fuzzers: the bytes of a model file. The reader must refuse or accept them without touching anything outside, and
// what it accepts must run. SPIKED_FUZZ_PLANT=1 adds a fault that only a mutated header reaches (GGUF version 2), so that a fuzzer that
// finds nothing is told apart from one that looks at nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "capi/spiked.h"

namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "gguf_target: %s\n", what);
  std::abort();
}

/// One file in memory, rewritten for each input: the loader takes paths, as its users do.
struct MemoryFile {
  int fd = memfd_create("model.gguf", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);

  void write(const uint8_t* data, size_t size) {
    if (fd < 0 || ftruncate(fd, 0) != 0) broken("no memory file");
    for (size_t at = 0; at < size;) {
      const ssize_t n = pwrite(fd, data + at, size - at, static_cast<off_t>(at));
      if (n <= 0) broken("writing the memory file failed");
      at += static_cast<size_t>(n);
    }
  }
};

void planted_fault(const uint8_t* data, size_t size) {
  if (size < 8 || data[4] != 2) return;
  uint8_t* copy = new uint8_t[size];
  std::memcpy(copy, data, size);
  const volatile uint8_t* past = copy;
  const uint8_t found = past[size];
  delete[] copy;
  std::fprintf(stderr, "read %d past the end\n", found);
  broken("the planted fault was reached");
}

void describe(const char* path) {
  int emitted = 0;
  spiked_error error{};
  const auto emit = [](void* user, const char* text, size_t length) {
    if (length < 2 || text[0] != '{' || text[length - 1] != '}') broken("the description is no JSON object");
    ++*static_cast<int*>(user);
  };
  const spiked_status got = spiked_file_describe(path, emit, &emitted, &error);
  if (emitted != (got == SPIKED_OK ? 1 : 0))
    broken("a description must come exactly once, and never with an error");
  if (got != SPIKED_OK && (error.code != got || error.message[0] == '\0'))
    broken("an error without a message");
}

void open_and_run(spiked_engine* engine, const char* path) {
  spiked_error error{};
  spiked_model* model = nullptr;
  const spiked_status got = spiked_model_open(engine, path, &model, &error);
  if ((got == SPIKED_OK) != (model != nullptr)) broken("a model handle and an error");
  if (model == nullptr) {
    if (error.code != got || error.message[0] == '\0') broken("an error without a message");
    return;
  }
  spiked_model_info info{};
  spiked_model_get_info(model, &info);
  spiked_session* session = nullptr;
  if (spiked_session_open(model, &session, &error) == SPIKED_OK) {
    const int32_t ids[] = {0, static_cast<int32_t>(info.vocab_size) - 1, 0};
    const spiked_status fed =
        spiked_session_forward(session, ids, 3, SPIKED_LOGITS_LAST, nullptr, nullptr, &error);
    // Weights that are not finite, or make activations that are not, end the request of a ternary model.
    if (fed != SPIKED_OK && fed != SPIKED_ERR_NO_MEMORY && fed != SPIKED_ERR_MODEL_INVALID)
      broken(error.message);
  }
  spiked_model_close(model);
  spiked_session_close(session);
}

spiked_engine* engine_once() {
  spiked_engine_options options{};
  options.n_threads = 1;
  spiked_engine* engine = nullptr;
  spiked_error error{};
  if (spiked_engine_open(&options, &engine, &error) != SPIKED_OK) broken(error.message);
  return engine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static spiked_engine* const engine = engine_once();
  static MemoryFile file;
  static const bool plant = std::getenv("SPIKED_FUZZ_PLANT") != nullptr;
  if (plant) planted_fault(data, size);
  file.write(data, size);
  describe(file.path.c_str());
  open_and_run(engine, file.path.c_str());
  return 0;
}
