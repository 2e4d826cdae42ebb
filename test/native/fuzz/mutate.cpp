// A seeded mutator for machines without libFuzzer: the same seed makes the same inputs. It knows where GGUF keeps its counts, so most
// changes fall into the header.
//   spiked_gguf_mutate SECONDS SEED FILE...
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

struct Random {
  uint64_t state;
  uint64_t next() {  // SplitMix64
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
};

constexpr uint64_t kInteresting[] = {
    0,          1,          2,     7,          31,       32,         63,          64,         127,
    128,        255,        256,   65535,      65536,    0x7fffffff, 0x80000000u, 0xffffffff, 0x100000000u,
    1ull << 60, 1ull << 63, ~0ull, ~0ull - 63, ~0ull / 4};

void put(Bytes& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

void mutate_once(Bytes& bytes, Random& random) {
  if (bytes.empty()) return;
  // Half of the changes fall into the fixed header and the first entries, most of the rest before the data.
  const size_t reach[] = {24, 512, 8192, bytes.size()};
  const size_t limit = reach[random.below(4)];
  const size_t at = random.below(limit < bytes.size() ? limit : bytes.size());
  switch (random.below(8)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<uint8_t>(random.next());
      break;
    case 2:
      put(bytes, at, kInteresting[random.below(std::size(kInteresting))], 4);
      break;
    case 3:
      put(bytes, at, kInteresting[random.below(std::size(kInteresting))], 8);
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.erase(bytes.begin() + static_cast<long>(at),
                  bytes.begin() + static_cast<long>(at + random.below(bytes.size() - at) % 64));
      break;
    case 6:
      bytes.insert(bytes.begin() + static_cast<long>(at), random.below(64),
                   static_cast<uint8_t>(random.next()));
      break;
    default: {
      const size_t from = random.below(bytes.size());
      const size_t room = bytes.size() - (from > at ? from : at);
      std::memmove(&bytes[at], &bytes[from], random.below(room < 128 ? room : 128));
    }
  }
}

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
    for (size_t n = 1 + random.below(4); n > 0; --n) mutate_once(input, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
