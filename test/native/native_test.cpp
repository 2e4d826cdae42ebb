// spiked_native_test [PART | --except PART]: runs every test whose name contains PART, or does not; exit status 1 when one fails or none ran.
#include <chrono>
#include <cstdio>
#include <string>

#include "unit.h"

namespace {

void print(const char* verdict, const std::string& name, const std::string& note, double seconds) {
  std::printf("%s %s%s%s (%.2f s)\n", verdict, name.c_str(), note.empty() ? "" : ": ", note.c_str(), seconds);
  std::fflush(stdout);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  const bool except = argc > 2 && std::string(argv[1]) == "--except";
  const std::string part = except ? argv[2] : argc > 1 ? argv[1] : "";
  int passed = 0, failed = 0;
  for (const auto& [name, body] : unit::Unit::all()) {
    if ((name.find(part) == std::string::npos) != except) continue;
    unit::Test test;
    const double begin_s = now_s();
    body(test);
    const double seconds = now_s() - begin_s;
    if (!test.failure().empty()) {
      ++failed;
      print("FAIL", name, test.failure(), seconds);
    } else {
      ++passed;
      print("ok", name, test.note(), seconds);
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
