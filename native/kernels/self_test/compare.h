#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace spiked::kernels::testing {

/// The same bits, or both NaN: processors differ in the sign and payload of the NaN they make.
bool same(float a, float b);
bool same(uint32_t a, uint32_t b);
bool same(int32_t a, int32_t b);
bool same(int8_t a, int8_t b);
bool same(int16_t a, int16_t b);

std::string difference(const char* what, size_t i, float expected, float found);
std::string difference(const char* what, size_t i, uint32_t expected, uint32_t found);
std::string difference(const char* what, size_t i, int32_t expected, int32_t found);
std::string difference(const char* what, size_t i, int8_t expected, int8_t found);
std::string difference(const char* what, size_t i, int16_t expected, int16_t found);
/// `distance_bytes`: negative before the first value, else from the end of the last one.
std::string overrun(const char* what, const char* who, long distance_bytes);

}  // namespace spiked::kernels::testing
