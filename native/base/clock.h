#pragma once
#include <chrono>
#include <cstdint>

namespace spiked {

/// Times the parts of a step; only one worker's clock is on.
class Clock {
 public:
  explicit Clock(bool on) : on_(on) {
    if (on_) last_ = std::chrono::steady_clock::now();
  }
  bool on() const { return on_; }
  /// Nanoseconds since the last lap.
  uint64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
    last_ = now;
    return static_cast<uint64_t>(ns);
  }

 private:
  bool on_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace spiked
