#pragma once
#include "tensor/matrix.h"

namespace spiked {

/// Row r of a packed matrix as the numbers it stands for, exactly: w, or q * scale in f64.
///
/// out  f64 [w.cols]
void unpack_row(const Matrix& w, size_t r, double* out);

}  // namespace spiked
