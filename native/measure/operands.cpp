#include "measure/operands.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "threads/partition.h"

namespace spiked::measure {
namespace {

struct Random {
  uint64_t state = 1;
  uint64_t next() { return state = state * 6364136223846793005u + 1442695040888963407u; }
  float number() { return static_cast<float>(static_cast<int32_t>(next() >> 32)) * 0x1p-31f; }
};

size_t row_bytes(Weights type) {
  switch (type) {
    case Weights::kF32:
      return kWidth * sizeof(float);
    case Weights::kF16:
      return kWidth * sizeof(uint16_t);
    case Weights::kI8:
      return kWidth;
    case Weights::kI4:
      return layout::i4_panel_bytes(kWidth) / layout::kPanelRows;
    case Weights::kT2:
      return kWidth / layout::kT2BlockColumns * layout::kT2BlockBytes;
  }
  return kWidth;
}

void set_i4_scales(uint8_t* panel) {
  constexpr uint16_t kScale = 0x211f;  // 0.01 as f16
  for (size_t g = 0; g < kWidth / layout::kGroupColumns; ++g) {
    for (size_t r = 0; r < layout::kPanelRows; ++r)
      std::memcpy(panel + layout::i4_scales_at(g) + r * sizeof kScale, &kScale, sizeof kScale);
  }
}

/// What turns random bits into weights of a type: f16 numbers below 2, codes 0, 1 and 2 (3 becomes 2).
uint64_t weights_of(Weights type, uint64_t bits) {
  if (type == Weights::kF16) return bits & 0xbfffbfffbfffbfffu;
  if (type == Weights::kT2) return bits & ~(bits >> 1 & 0x5555555555555555u);
  return bits;
}

/// Rows are written by the worker that will read them, so that they lie in its memory where a machine has several.
void write_rows(Weights type, uint8_t* w, Range rows) {
  const size_t begin = rows.begin * row_bytes(type), end = rows.end * row_bytes(type);
  Random random{rows.begin + 1};
  if (type == Weights::kF32) {
    for (size_t at = begin; at < end; at += sizeof(float)) {
      const float number = random.number();
      std::memcpy(w + at, &number, sizeof number);
    }
    return;
  }
  for (size_t at = begin; at < end; at += sizeof(uint64_t)) {
    const uint64_t bits = random.next(), word = weights_of(type, bits ^ random.state >> 33);
    std::memcpy(w + at, &word, sizeof word);
  }
  if (type != Weights::kI4) return;
  for (size_t r = rows.begin; r < rows.end; r += layout::kPanelRows) set_i4_scales(w + r * row_bytes(type));
}

}  // namespace

Operands::Operands(Weights type, size_t size_bytes, Pool& pool, const kernels::Kernels& k)
    : rows(size_bytes / row_bytes(type) / layout::kColumnRows * layout::kColumnRows),
      w(rows * row_bytes(type)),
      scale(std::max(rows, kWidth)),
      x(kTokens * kWidth),
      q8(kTokens * kWidth),
      q16(kTokens * kWidth),
      column_x(rows) {
  pool.run([&](Team& team) {
    write_rows(type, w.data(), share(rows, layout::kPanelRows, team.index(), team.size()));
  });
  Random random;
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.01f;
  for (size_t i = 0; i < x.size(); ++i) x[i] = random.number();
  for (size_t i = 0; i < rows; ++i) column_x[i] = x[i % x.size()];
  for (size_t c = 0; c < rows; ++c)
    if ((random.next() >> 40) % kActiveEach == 0) active.push_back(static_cast<uint32_t>(c));
  for (size_t t = 0; t < kTokens; ++t) {
    scale8[t] = k.quantize_i8(x.data() + t * kWidth, kWidth, q8.data() + t * kWidth);
    sum8[t] = std::accumulate(q8.data() + t * kWidth, q8.data() + (t + 1) * kWidth, 0);
    scale16[t] = k.quantize_i16(x.data() + t * kWidth, kWidth, q16.data() + t * kWidth);
  }
}

}  // namespace spiked::measure
