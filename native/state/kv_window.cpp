#include "state/kv_window.h"

namespace spiked {

KvWindow::KvWindow(size_t n_heads, size_t head_dim, size_t window, size_t n_anchors, size_t max_batch)
    : stride_(round_up(head_dim, kAlign / sizeof(float))),
      window_(window),
      n_anchors_(n_anchors),
      ring_(window + max_batch),
      keys_(n_heads * (n_anchors + ring_) * stride_),
      values_(n_heads * (n_anchors + ring_) * stride_),
      spiked_(n_anchors + ring_) {}

size_t KvWindow::visible(size_t t, uint32_t* slots) const {
  size_t n = 0;
  const auto take = [&](size_t s) {
    if (spiked_[s] != 0) slots[n++] = static_cast<uint32_t>(s);
  };
  const size_t oldest = t > window_ ? t - window_ : 0;
  for (size_t j = 0; j < n_anchors_ && j < oldest; ++j) take(j);
  const size_t end = n_anchors_ + ring_;
  for (size_t j = oldest, s = slot(oldest); j <= t; ++j, s = s + 1 == end ? n_anchors_ : s + 1) take(s);
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
