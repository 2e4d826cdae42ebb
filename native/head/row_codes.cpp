#include "head/row_codes.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "tensor/pack.h"

namespace spiked::head {
namespace {

// Clipping the largest weights of a group can lower the group's error; the best of these is kept.
constexpr double kClips[] = {1.0, 0.95, 0.9, 0.85, 0.8};
constexpr double kLevels4 = 7.0, kLevels8 = 127.0;

struct Group {
  uint16_t scale;
  int8_t q[layout::kGroupColumns];
};

double largest_of(const double* w, size_t n) {
  double largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::fabs(w[i]) > largest ? std::fabs(w[i]) : largest;
  return largest;
}

double level_of(double w, double scale, double levels) {
  const double level = std::nearbyint(w / scale);
  return level > levels ? levels : level < -levels ? -levels : level;
}

double quantise(const double* w, double scale, int8_t* q) {
  double error = 0;
  for (size_t i = 0; i < layout::kGroupColumns; ++i) {
    const double level = level_of(w[i], scale, kLevels4);
    q[i] = static_cast<int8_t>(level);
    error += (w[i] - level * scale) * (w[i] - level * scale);
  }
  return error;
}

// False when the scale does not fit.
bool best_group(const double* w, Group& best) {
  const double largest = largest_of(w, layout::kGroupColumns);
  double least = INFINITY;
  for (double clip : kClips) {
    Group found;
    found.scale = half::from_f32(static_cast<float>(largest / kLevels4 * clip));
    if (found.scale == 0) found.scale = half::from_f32(1.0f);
    const auto scale = static_cast<double>(half::to_f32(found.scale));
    if (!std::isfinite(scale)) return false;
    const double error = quantise(w, scale, found.q);
    if (error < least) {
      least = error;
      best = found;
    }
  }
  return true;
}

}  // namespace

bool encode_row_4(const std::vector<double>& w, size_t lane_row, uint8_t* panel, std::vector<double>& rest) {
  for (size_t begin = 0; begin < w.size(); begin += layout::kGroupColumns) {
    Group group{};
    if (!best_group(w.data() + begin, group)) return false;
    const auto scale = static_cast<double>(half::to_f32(group.scale));
    for (size_t i = 0; i < layout::kGroupColumns; ++i) {
      const I4Position at = i4_position(lane_row, begin + i);
      panel[at.byte] = static_cast<uint8_t>(panel[at.byte] | (group.q[i] & 0xf) << at.shift);
      std::memcpy(panel + at.scale_byte, &group.scale, sizeof group.scale);
      rest[begin + i] -= static_cast<double>(group.q[i]) * scale;
    }
  }
  return true;
}

float encode_row_8(const std::vector<double>& w, size_t lane_row, uint8_t* panel, std::vector<double>& rest) {
  auto scale = static_cast<float>(largest_of(w.data(), w.size()) / kLevels8);
  if (!(scale > 0.0f)) scale = 1.0f;
  const auto step = static_cast<double>(scale);
  for (size_t begin = 0; begin < w.size(); begin += layout::kPanelBytes) {
    auto* codes =
        reinterpret_cast<int8_t*>(panel) + (begin * layout::kPanelRows + lane_row * layout::kPanelBytes);
    for (size_t i = 0; i < layout::kPanelBytes; ++i) {
      const double level = level_of(w[begin + i], step, kLevels8);
      codes[i] = static_cast<int8_t>(level);
      rest[begin + i] -= level * step;
    }
  }
  return scale;
}

}  // namespace spiked::head
