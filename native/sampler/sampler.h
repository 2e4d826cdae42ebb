#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace spiked::sampler {

/// How the two published graphs differ in sampling (docs/numerics.md).
enum class Style { k08b, k194m };

struct Settings {
  float temperature = 0.8f;         ///< 0: greedy
  uint32_t top_k = 50;              ///< 0: off
  float top_p = 0.9f;               ///< 1: off
  float repetition_penalty = 1.0f;  ///< 1: off
  bool adaptive_temperature = false;
  std::span<const int32_t> banned;

  /// Errors: ERR_INVALID_ARGUMENT naming the setting, expected and found.
  Status check() const;
};

struct Candidate {
  int32_t id;
  float probability;
};

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits a draw from a 64-bit state.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in [0, 1): the upper 53 bits of the next output.
  double uniform();

 private:
  uint64_t state_;
};

/// From logits to one id; keeps its work buffers from token to token.
class Sampler {
 public:
  Sampler(Style style, size_t vocab_size) : style_(style), scores_(vocab_size), seen_(vocab_size) {
    candidates_.reserve(vocab_size);  // a token should allocate nothing
  }

  /// The distribution before the draw: probability descending, id ascending. Greedy gives one candidate.
  ///
  /// logits   f32 [vocab_size], raw
  /// valid    ids at or beyond it are masked, 1 <= valid <= vocab_size
  /// history  every id fed so far
  /// rows     the only ids whose logits are there, ascending; empty: all. The caller knows that the answer is among them.
  /// Errors: ERR_MODEL_INVALID when a logit is not finite; ERR_INVALID_ARGUMENT when nothing is left to choose from.
  Result<std::span<const Candidate>> distribution(const float* logits, size_t valid,
                                                  std::span<const int32_t> history, const Settings& s,
                                                  std::span<const int32_t> rows = {});

  /// The first candidate whose cumulative probability exceeds a uniform draw.
  static int32_t draw(std::span<const Candidate> candidates, Generator& generator);

 private:
  Status copy(const float* logits, size_t valid, std::span<const int32_t> rows);
  void mask(size_t valid, std::span<const int32_t> history, const Settings& s);
  double temperature(size_t valid, const Settings& s) const;
  void keep_top_k(uint32_t top_k);
  void keep_top_p(float top_p);

  Style style_;
  std::vector<float> scores_;  // masked ids hold -inf
  std::vector<uint8_t> seen_;
  std::vector<Candidate> candidates_;  // probability holds the score until normalised
};

/// log p(id) under the softmax of the ids below valid, temperature 1. NaN logits give NaN.
double log_probability(const float* logits, size_t valid, int32_t id);

/// The probability that the slots in [valid, vocab) would have together under the softmax of all `vocab` slots.
double mass_beyond(const float* logits, size_t valid, size_t vocab);

}  // namespace spiked::sampler
