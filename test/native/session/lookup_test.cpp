#include "session/lookup.h"

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "unit.h"

namespace {

using namespace spiked;

/// The latest earlier place of the last four ids, three or two, found by looking at all of them.
std::vector<int32_t> expected_guess(std::vector<int32_t> text, int32_t next, size_t n) {
  text.push_back(next);
  for (size_t length : {4u, 3u, 2u}) {
    if (text.size() < length + 1) continue;
    for (size_t begin = text.size() - length; begin-- > 0;) {
      if (!std::equal(text.end() - static_cast<std::ptrdiff_t>(length), text.end(),
                      text.begin() + static_cast<std::ptrdiff_t>(begin)))
        continue;
      for (size_t i = 0; i < n; ++i) text.push_back(text[begin + length + i]);
      return {text.end() - static_cast<std::ptrdiff_t>(n), text.end()};
    }
  }
  return {};
}

std::vector<int32_t> guess(Lookup& lookup, const std::vector<int32_t>& text, int32_t next, size_t n) {
  std::vector<int32_t> out(n, -1);
  out.resize(lookup.guess(text, next, n, out.data()));
  return out;
}

const unit::Unit example_unit(
    "lookup: longest first, latest first, and an end that repeats", [](unit::Test& t) {
      Lookup lookup(1000);
      t.expect(guess(lookup, {}, 1, 7).empty(), "nothing before the first id");
      t.expect(guess(lookup, {1}, 1, 7).empty(), "nothing alike");
      lookup.clear();
      // 1 2 comes twice: the later one counts. 9 1 2 comes once, before it: the longer one counts.
      const std::vector<int32_t> text{9, 1, 2, 3, 4, 1, 2, 5, 6, 7};
      t.expect(guess(
                   lookup,
                   [&] {
                     auto a = text;
                     a.push_back(1);
                     return a;
                   }(),
                   2, 2) == std::vector<int32_t>{5, 6},
               "the latest");
      lookup.clear();
      t.expect(guess(
                   lookup,
                   [&] {
                     auto a = text;
                     a.insert(a.end(), {9, 1});
                     return a;
                   }(),
                   2, 2) == std::vector<int32_t>{3, 4},
               "the longest");
      lookup.clear();
      t.expect(guess(lookup, {1, 2, 3, 1, 2}, 3, 7) == std::vector<int32_t>{1, 2, 3, 1, 2, 3, 1}, "a loop");
    });

const unit::Unit reference_unit("lookup: the guesses of a search through the text", [](unit::Test& t) {
  uint64_t state = 1;
  const auto random = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int32_t>((state >> 33) % n);
  };
  size_t asked = 0, missing = 0;
  for (uint64_t alphabet : {1u, 2u, 3u, 8u, 40u}) {
    Lookup lookup(32'000);
    for (int begin = 0; begin < 3; ++begin) {  // what is left of the text before is no harm
      std::vector<int32_t> text;
      for (int i = 0; i < 400; ++i) {
        const int32_t next = random(alphabet);
        const size_t n = 1 + static_cast<size_t>(random(7));
        // Asked now and then, as a text grows by several ids at once.
        if (random(3) != 0) {
          const auto found = guess(lookup, text, next, n), wanted = expected_guess(text, next, n);
          ++asked;
          if (found != wanted) ++missing;
          t.expect(!found.empty() || missing <= asked / 50, "too many guesses are missing");
          t.expect(!wanted.empty() || found.empty(), "a guess from nothing");
        }
        text.push_back(next);
      }
      lookup.clear();
    }
  }
  t.expect(missing * 100 <= asked, format("%zu of %zu guesses differ", missing, asked));
  t.note(format("%zu guesses, %zu displaced", asked, missing));
});

const unit::Unit small_unit("lookup: places that many groups share give no wrong guess", [](unit::Test& t) {
  Lookup lookup(1);
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 3000; ++i) {
    const auto found = guess(lookup, text, i, 3);
    t.expect(found.empty(), "ids that never came before");
    text.push_back(i);
  }
  t.expect(guess(lookup, text, 0, 3).empty(), "2999 0 never came before");
  text.push_back(2997);
  t.expect(guess(lookup, text, 2998, 2) == std::vector<int32_t>{2999, 2997}, "the latest are there");
});

}  // namespace
