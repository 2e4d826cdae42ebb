#pragma once
#include <vector>

#include "base/aligned.h"
#include "base/status.h"
#include "ops/linear.h"
#include "tensor/matrix.h"

namespace spiked::head {

/// Products with the output projection's stored rows, which lie in memory or, in low memory mode, are read from the file into a window of
/// each worker's own; the bits are the same. Shared by a model's heads: one thread computes at a time.
class OutputRows {
 public:
  OutputRows(const Matrix& output, unsigned n_workers);

  /// out[t, r] = row r . hidden[t] for rows [begin, end), both multiples of unit() or past the last row.
  ///
  /// worker  which of the region's workers calls
  /// hidden  f32 [n, hidden_stride], zero-padded
  /// out     f32 [n, out_stride]
  ///
  /// Rows that cannot be read are left unwritten; end() tells.
  void multiply(const kernels::Kernels& k, unsigned worker, const float* hidden, size_t hidden_stride,
                size_t n, size_t begin, size_t end, float* out, size_t out_stride);

  /// Least rows computed together: a panel, or one where each row lies by itself.
  size_t unit() const { return w_.dtype == DType::kF16 ? 1 : w_.row_unit(); }

  /// What went wrong in the region that has ended, by the first worker that it happened to. Errors: RowFile::read's.
  Status end();

  size_t size_bytes() const;

 private:
  struct Worker {
    AlignedArray<uint16_t> window;
    Status status;
  };

  const Matrix& w_;
  size_t window_rows_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace spiked::head
