// A seeded fuzzer for machines without libFuzzer: the same seed makes the same inputs.
//   spiked_gguf_mutate SECONDS SEED FILE...
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

using fuzz::Bytes;
using fuzz::Random;

namespace {

Bytes read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: spiked_gguf_mutate SECONDS SEED FILE...\n");
    return 2;
  }
  std::vector<Bytes> corpus;
  for (int i = 3; i < argc; ++i) {
    corpus.push_back(read(argv[i]));
    if (corpus.back().empty()) {
      std::fprintf(stderr, "%s: expected a model file, found nothing\n", argv[i]);
      return 2;
    }
    LLVMFuzzerTestOneInput(corpus.back().data(), corpus.back().size());
  }
  Random random{std::strtoull(argv[2], nullptr, 10)};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    Bytes input = corpus[random.below(corpus.size())];
    for (size_t n = 1 + random.below(4); n > 0; --n) fuzz::mutate_once(input, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
