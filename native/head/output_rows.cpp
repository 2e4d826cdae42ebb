#include "head/output_rows.h"

#include <algorithm>
#include <utility>

#include "tensor/row_file.h"

namespace spiked::head {
namespace {

// Large enough that a read's own cost is small beside copying it, small enough to stay in a core's cache until it is used.
constexpr size_t kWindowBytes = size_t{256} << 10;

/// n rows of an f16 row_major matrix by themselves.
Matrix rows_at(const Matrix& w, const uint16_t* data, size_t n) {
  return {w.dtype, w.layout, n, w.cols, {round_up(n, layout::kPanelRows), w.packed.cols}, data};
}

}  // namespace

OutputRows::OutputRows(const Matrix& output, unsigned n_workers) : w_(output), workers_(n_workers) {
  if (w_.file == nullptr) return;
  window_rows_ = std::max<size_t>(1, kWindowBytes / w_.file->row_bytes());
  for (Worker& worker : workers_) worker.window = AlignedArray<uint16_t>(window_rows_ * w_.cols);
}

void OutputRows::multiply(const kernels::Kernels& k, unsigned worker, const float* hidden,
                          size_t hidden_stride, size_t n, size_t begin, size_t end, float* out,
                          size_t out_stride) {
  if (w_.dtype != DType::kF16) {
    const size_t unit = w_.row_unit();
    return ops::linear(k, w_, hidden, hidden_stride, n, begin / unit, (end + unit - 1) / unit, out,
                       out_stride);
  }
  end = std::min(end, w_.rows);
  const auto product = [&](const uint16_t* data, size_t from, size_t n_rows) {
    const Matrix rows = rows_at(w_, data, n_rows);
    ops::linear(k, rows, hidden, hidden_stride, n, 0, rows.n_row_units(), out + from, out_stride);
  };
  if (w_.file == nullptr) {
    if (begin < end) product(static_cast<const uint16_t*>(w_.data) + begin * w_.cols, begin, end - begin);
    return;
  }
  Worker& me = workers_[worker];
  for (size_t at = begin; at < end && me.status.ok(); at += window_rows_) {
    const size_t last = std::min(at + window_rows_, end);
    me.status = w_.file->read(at, last, me.window.data());
    if (me.status.ok()) product(me.window.data(), at, last - at);
  }
}

Status OutputRows::end() {
  Status first;
  for (Worker& worker : workers_) {
    Status found = std::exchange(worker.status, {});
    if (first.ok()) first = std::move(found);
  }
  return first;
}

size_t OutputRows::size_bytes() const {
  size_t n = 0;
  for (const Worker& worker : workers_) n += worker.window.size() * sizeof(uint16_t);
  return n;
}

}  // namespace spiked::head
