#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// A test runner of one page: a test registers itself by a static `Unit`, prints one line, and fails by its first failed expectation.
namespace unit {

/// What a running test reports to.
class Test {
 public:
  void expect(bool holds, const std::string& what) {
    if (!holds && failure_.empty()) failure_ = what.empty() ? "expectation without a text" : what;
  }
  /// Shown on the test's line: a measured figure, a seed.
  void note(std::string text) { note_ = std::move(text); }

  const std::string& failure() const { return failure_; }
  const std::string& note() const { return note_; }

 private:
  std::string failure_, note_;
};

struct Unit {
  Unit(std::string name, std::function<void(Test&)> body) {
    all().emplace_back(std::move(name), std::move(body));
  }
  static std::vector<std::pair<std::string, std::function<void(Test&)>>>& all() {
    static std::vector<std::pair<std::string, std::function<void(Test&)>>> units;
    return units;
  }
};

}  // namespace unit
