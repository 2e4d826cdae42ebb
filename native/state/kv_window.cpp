#include "state/kv_window.h"

namespace spiked {

KvWindow::KvWindow(size_t dim, size_t window, size_t n_anchors, size_t max_batch)
    : stride_(round_up(dim, kAlign / sizeof(float))),
      window_(window),
      n_anchors_(n_anchors),
      ring_(window + max_batch),
      keys_((n_anchors + ring_) * stride_),
      values_((n_anchors + ring_) * stride_),
      spiked_(n_anchors + ring_) {}

size_t KvWindow::visible(size_t t, uint32_t* slots) const {
  size_t n = 0;
  const auto take = [&](size_t pos) {
    const size_t s = slot(pos);
    if (spiked_[s] != 0) slots[n++] = static_cast<uint32_t>(s);
  };
  const size_t oldest = t > window_ ? t - window_ : 0;
  for (size_t j = 0; j < n_anchors_ && j < oldest; ++j) take(j);
  for (size_t j = oldest; j <= t; ++j) take(j);
  return n;
}

std::vector<int32_t> KvWindow::kept(size_t n) const {
  std::vector<int32_t> out;
  if (n == 0) return out;
  const size_t last = n - 1, oldest = last > window_ ? last - window_ : 0;
  for (size_t j = 0; j < n; ++j)
    if (j < n_anchors_ || j >= oldest) out.push_back(static_cast<int32_t>(j));
  return out;
}

}  // namespace spiked
