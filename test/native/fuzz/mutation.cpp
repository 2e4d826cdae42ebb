#include "fuzz/mutation.h"

#include <cstring>
#include <iterator>

namespace fuzz {
namespace {

constexpr uint64_t kInteresting[] = {
    0,          1,          2,     7,          31,       32,         63,          64,         127,
    128,        255,        256,   65535,      65536,    0x7fffffff, 0x80000000u, 0xffffffff, 0x100000000u,
    1ull << 60, 1ull << 63, ~0ull, ~0ull - 63, ~0ull / 4};

void put(Bytes& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

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

}  // namespace fuzz
