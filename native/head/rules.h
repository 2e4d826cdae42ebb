#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/penalty.h"

namespace spiked::head {

inline constexpr float kNever = -std::numeric_limits<float>::infinity();

/// What a request does to each row's logit before the choice. Every part is monotone in the logit, so it may be applied to both ends
/// of a bound.
struct Rules {
  enum : uint8_t { kPlain = 0, kPenalised = 1, kBanned = 2 };
  size_t valid = 0;               ///< rows at or beyond it are masked
  const uint8_t* kind = nullptr;  ///< [valid]; null: all plain
  float penalty = 1.0f;

  float apply(size_t row, float logit) const {
    if (kind == nullptr || kind[row] == kPlain) return logit;
    return kind[row] == kBanned ? kNever : penalised(logit, penalty);
  }
};

}  // namespace spiked::head
