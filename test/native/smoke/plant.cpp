#include <climits>
#include <cstring>
#include <thread>

#include "check.h"

namespace {

int overflow() {
  volatile size_t n = 16;
  char* bytes = new char[n];
  std::memset(bytes, 0, n);
  const volatile char* past = bytes;
  const int found = past[n];
  delete[] bytes;
  return found;
}

int leak() {
  volatile char* lost = new char[32];
  lost[0] = 1;
  lost = nullptr;
  return 0;
}

int undefined() {
  volatile int most = INT_MAX;
  return most + 1 < 0 ? 0 : 0;
}

int race() {
  int shared = 0;
  const auto add = [&shared] {
    for (int i = 0; i < 1000; ++i) ++shared;
  };
  std::thread other(add);
  add();
  other.join();
  return shared < 0;
}

}  // namespace

/// Returns 0 when nothing noticed the fault.
int plant(const char* fault) {
  if (std::strcmp(fault, "overflow") == 0) return overflow() & 0;
  if (std::strcmp(fault, "leak") == 0) return leak();
  if (std::strcmp(fault, "undefined") == 0) return undefined();
  if (std::strcmp(fault, "race") == 0) return race();
  std::fprintf(stderr, "no fault is named %s\n", fault);
  return 0;
}
