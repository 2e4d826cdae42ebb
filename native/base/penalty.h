#pragma once

namespace spiked {

/// Repetition penalty of one score: positive ones are divided, others multiplied. Monotone in the score for any penalty above 0, in
/// real numbers and in f32, so a bound on a score stays a bound.
inline float penalised(float score, float penalty) {
  return score > 0.0f ? score / penalty : score * penalty;
}

}  // namespace spiked
