#pragma once
#include <cstdint>
#include <string>

namespace spiked::kernels::testing {

/// Counts the cases of one kernel's sweep and keeps the first failure's description.
class Tally {
 public:
  /// `stop_at_failure`: the sweep may end early, since one failure is all that is asked.
  Tally(uint64_t seed, bool stop_at_failure) : seed_(seed), stop_(stop_at_failure) {}
  void begin_case(std::string description) {
    ++cases_;
    failed_ = false;
    description_ = std::move(description);
  }
  void fail(const std::string& what) {
    if (failures_ == 0) detail_ = description_ + ": " + what;
    if (!failed_) ++failures_;
    failed_ = true;
  }
  bool done() const { return stop_ && failures_ != 0; }
  uint64_t seed() const { return seed_; }
  uint64_t cases() const { return cases_; }
  uint64_t failures() const { return failures_; }
  const std::string& detail() const { return detail_; }

 private:
  uint64_t seed_, cases_ = 0, failures_ = 0;
  bool stop_, failed_ = false;
  std::string description_, detail_;
};

}  // namespace spiked::kernels::testing
