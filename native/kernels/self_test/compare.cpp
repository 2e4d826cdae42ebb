#include "kernels/self_test/compare.h"

#include <bit>

#include "base/status.h"

namespace spiked::kernels::testing {

bool same(float a, float b) {
  if (a != a || b != b) return a != a && b != b;
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool same(uint32_t a, uint32_t b) { return a == b; }

bool same(int32_t a, int32_t b) { return a == b; }

bool same(int8_t a, int8_t b) { return a == b; }

bool same(int16_t a, int16_t b) { return a == b; }

std::string difference(const char* what, size_t i, float expected, float found) {
  return format("%s[%zu]: expected %a, found %a", what, i, static_cast<double>(expected),
                static_cast<double>(found));
}

std::string difference(const char* what, size_t i, uint32_t expected, uint32_t found) {
  return format("%s[%zu]: expected %u, found %u", what, i, expected, found);
}

std::string difference(const char* what, size_t i, int32_t expected, int32_t found) {
  return format("%s[%zu]: expected %d, found %d", what, i, expected, found);
}

std::string difference(const char* what, size_t i, int8_t expected, int8_t found) {
  return format("%s[%zu]: expected %d, found %d", what, i, expected, found);
}

std::string difference(const char* what, size_t i, int16_t expected, int16_t found) {
  return format("%s[%zu]: expected %d, found %d", what, i, expected, found);
}

std::string overrun(const char* what, const char* who, long distance_bytes) {
  return format("%s: %s wrote %ld bytes %s", what, who, distance_bytes < 0 ? -distance_bytes : distance_bytes,
                distance_bytes < 0 ? "before its first value" : "past its last value");
}

}  // namespace spiked::kernels::testing
