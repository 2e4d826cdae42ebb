#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.h"

namespace spiked {

/// Guesses how a text goes on from what followed its last ids earlier in it (prompt lookup).
///
/// For each of three lengths it remembers where every group of that many ids was last seen, so that neither a new id nor a guess looks
/// through the text. Groups that fall together displace one another: then a guess is missing, never wrong.
class Lookup {
 public:
  static constexpr size_t kLongest = 4, kShortest = 2;

  /// Bytes of the places for a text of this many ids.
  static size_t size_bytes(size_t n_ids) {
    return kLengths * (size_t{1} << slot_bits(n_ids)) * sizeof(uint32_t);
  }
  /// Allocates at the first guess, for a text of about that many ids.
  explicit Lookup(size_t n_ids) : bits_(slot_bits(n_ids)) {}

  /// What probably follows the text and then `next`: the ids after the latest earlier place of the last four, three or two of them.
  /// Where fewer than n follow, that end is taken to repeat.
  ///
  /// text  every id so far; only ever longer than the last time, but for clear()
  /// out   [n]
  /// Returns n, or 0 where nothing like it came before.
  size_t guess(std::span<const int32_t> text, int32_t next, size_t n, int32_t* out);

  /// The text begins anew.
  void clear() { seen_ = 0; }

 private:
  static constexpr size_t kLengths = kLongest - kShortest + 1;

  static unsigned slot_bits(size_t n_ids);
  /// Where the end of a group, ids [end - length, end), is remembered.
  uint32_t& place(size_t length, const std::array<int32_t, kLongest>& last);
  void see(std::span<const int32_t> text);

  unsigned bits_;
  AlignedArray<uint32_t> places_;  // [kLengths, 2^bits_] index after a group's last id; 0: none
  size_t seen_ = 0;                // ids of the text whose groups are there
};

}  // namespace spiked
