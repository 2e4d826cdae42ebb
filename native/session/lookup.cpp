#include "session/lookup.h"

#include <algorithm>
#include <bit>

namespace spiked {
namespace {

using Last = std::array<int32_t, Lookup::kLongest>;

/// The ids before `end` of text and then next, the latest last; 0 where there are none.
Last last_ids(std::span<const int32_t> text, int32_t next, size_t end) {
  Last out{};
  for (size_t i = 0; i < std::min(end, out.size()); ++i) {
    const size_t at = end - 1 - i;
    out[out.size() - 1 - i] = at < text.size() ? text[at] : next;
  }
  return out;
}

}  // namespace

// At least as many as the ids, so that few groups fall together; of a very long text only the latest part is there.
unsigned Lookup::slot_bits(size_t n_ids) {
  constexpr unsigned kLeast = 8, kMost = 15;
  return std::clamp(static_cast<unsigned>(std::bit_width(n_ids)), kLeast, kMost);
}

uint32_t& Lookup::place(size_t length, const Last& last) {
  uint64_t hash = length;
  for (size_t i = kLongest - length; i < kLongest; ++i)
    hash = (hash ^ static_cast<uint32_t>(last[i])) * 0x9e3779b97f4a7c15;
  return places_[((length - kShortest) << bits_) + (hash >> (64 - bits_))];
}

void Lookup::see(std::span<const int32_t> text) {
  if (places_.size() == 0) places_ = AlignedArray<uint32_t>(kLengths << bits_);
  for (; seen_ < text.size(); ++seen_) {
    const size_t end = seen_ + 1;
    const Last last = last_ids(text, 0, end);
    for (size_t length = kShortest; length <= std::min(kLongest, end); ++length)
      place(length, last) = static_cast<uint32_t>(end);
  }
}

size_t Lookup::guess(std::span<const int32_t> text, int32_t next, size_t n, int32_t* out) {
  see(text);
  const size_t size = text.size() + 1;
  const Last wanted = last_ids(text, next, size);
  for (size_t length = std::min(kLongest, size); length >= kShortest; --length) {
    const size_t end = place(length, wanted);
    if (end < length || end > text.size()) continue;
    const Last found = last_ids(text, next, end);
    const auto differs = static_cast<std::ptrdiff_t>(kLongest - length);
    if (!std::equal(found.begin() + differs, found.end(), wanted.begin() + differs)) continue;
    for (size_t i = 0; i < n; ++i) {
      const size_t at = end + i;
      out[i] = at < text.size() ? text[at] : at == text.size() ? next : out[at - size];
    }
    return n;
  }
  return 0;
}

}  // namespace spiked
