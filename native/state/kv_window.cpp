#include "state/kv_window.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/huge_pages.h"

namespace spiked {

KvWindow::KvWindow(const Shape& shape)
    : shape_(shape),
      stride_bytes_(stride_bytes(shape)),
      block_rows_(block_rows(shape)),
      rows_(rows_bytes(shape)),
      spiked_(shape.n_layers * n_slots()) {
  // Kernels take 32-bit row numbers: 2^32 rows are a terabyte.
  if (rows_.size() / stride_bytes_ > UINT32_MAX) throw std::bad_alloc();
  prefer_huge_pages(rows_.data(), rows_.size());
}

size_t KvWindow::size_bytes(const Shape& shape) {
  return rows_bytes(shape) + shape.n_layers * n_slots(shape);
}

size_t KvWindow::visible(size_t layer, size_t t, uint32_t* rows) const {
  const uint8_t* spiked = spiked_.data() + layer * n_slots();
  size_t n = 0;
  const auto take = [&](size_t s) {
    if (spiked[s] != 0) rows[n++] = static_cast<uint32_t>(row_of(s));
  };
  const size_t n_anchors = shape_.n_anchors, oldest = t > shape_.window ? t - shape_.window : 0;
  for (size_t j = 0; j < n_anchors && j < oldest; ++j) take(j);
  for (size_t j = oldest, s = slot(oldest); j <= t; ++j, s = s + 1 == n_slots() ? n_anchors : s + 1) take(s);
  return n;
}

void KvWindow::take(size_t begin, size_t n, uint8_t* out, uint8_t* spiked) const {
  for (size_t layer = 0; layer < shape_.n_layers; ++layer) {
    for (size_t i = 0; i < n; ++i) *spiked++ = spiked_[layer * n_slots() + slot(begin + i)];
    for (size_t run = 0; run < runs(); ++run) {
      for (size_t i = 0; i < n; ++i, out += stride_bytes_)
        std::memcpy(out, rows_.data() + run_at(layer, run, begin + i), stride_bytes_);
    }
  }
}

void KvWindow::put(size_t begin, size_t n, const uint8_t* in, const uint8_t* spiked) {
  for (size_t layer = 0; layer < shape_.n_layers; ++layer) {
    for (size_t i = 0; i < n; ++i) spiked_[layer * n_slots() + slot(begin + i)] = *spiked++;
    for (size_t run = 0; run < runs(); ++run) {
      for (size_t i = 0; i < n; ++i, in += stride_bytes_)
        std::memcpy(rows_.data() + run_at(layer, run, begin + i), in, stride_bytes_);
    }
  }
}

void KvWindow::copy(const KvWindow& from, size_t n) {
  if (empty()) return;
  const size_t blocks = round_up(std::min(n, n_slots()), kBlock) / kBlock;
  std::memcpy(rows_.data(), from.rows_.data(), blocks * block_rows_ * stride_bytes_);
  std::memcpy(spiked_.data(), from.spiked_.data(), spiked_.size());
}

std::vector<int32_t> KvWindow::kept(size_t n) const {
  std::vector<int32_t> out;
  if (n == 0 || empty()) return out;
  const size_t last = n - 1, oldest = last > shape_.window ? last - shape_.window : 0;
  for (size_t j = 0; j < n; ++j)
    if (j < shape_.n_anchors || j >= oldest) out.push_back(static_cast<int32_t>(j));
  return out;
}

}  // namespace spiked
