#include "tensor/gguf.h"

namespace spiked {
namespace {

struct TypeRow {
  uint32_t type;
  const char* name;
  uint32_t block_elements, block_bytes;
};

// The types whose size we know; a file with any other is refused.
constexpr TypeRow kTypes[] = {
    {0, "F32", 1, 4},       {1, "F16", 1, 2},       {2, "Q4_0", 32, 18},    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},    {7, "Q5_1", 32, 24},    {8, "Q8_0", 32, 34},    {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},  {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210}, {24, "I8", 1, 1},       {25, "I16", 1, 2},      {26, "I32", 1, 4},
    {27, "I64", 1, 8},      {28, "F64", 1, 8},      {30, "BF16", 1, 2},
};

// I2_S: blocks of 128 codes in 32 bytes, then one f32 scale and 28 bytes for the whole tensor.
constexpr uint32_t kI2S = 36;
constexpr uint64_t kI2SColumns = 128, kI2STrailerBytes = 32;

const TypeRow* row_of(uint32_t type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace

std::optional<uint64_t> ggml_size_bytes(uint32_t type, uint64_t ne0, uint64_t n) {
  if (type == kI2S) return ne0 % kI2SColumns == 0 ? std::optional(n / 4 + kI2STrailerBytes) : std::nullopt;
  const TypeRow* row = row_of(type);
  if (row == nullptr || ne0 % row->block_elements != 0) return std::nullopt;
  uint64_t size_bytes = 0;
  if (__builtin_mul_overflow(n / row->block_elements, static_cast<uint64_t>(row->block_bytes), &size_bytes))
    return std::nullopt;
  return size_bytes;
}

const char* ggml_type_name(uint32_t type) {
  if (type == kI2S) return "I2_S";
  const TypeRow* row = row_of(type);
  return row == nullptr ? nullptr : row->name;
}

}  // namespace spiked
