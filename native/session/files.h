#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/describe.h"
#include "tensor/pack.h"
#include "tensor/unpack.h"
#include "tensor/watched_range.h"

namespace spiked {

/// JSON description of any GGUF file (capi/spiked.h). Errors: those of GgufFile::open.
inline Result<std::string> describe_file(const std::string& path) {
  auto file = GgufFile::open(path);
  if (!file.ok()) return file.status();
  std::string text = describe_json(*file.value());
  SPIKED_TRY(file.value()->unchanged());
  return text;
}

/// The storage a caller named by numbers, or the error that says it is none.
struct Storage {
  DType dtype;
  Layout layout;
  static Result<Storage> of(int32_t dtype, int32_t layout) {
    const auto d = static_cast<DType>(dtype);
    if (d != DType::kF32 && d != DType::kI8 && d != DType::kI4)
      return Status{Code::ERR_INVALID_ARGUMENT,
                    format("dtype: expected 0 (F32), 24 (I8) or 1004 (I4), found %d", dtype)};
    if (layout < 0 || layout > static_cast<int32_t>(Layout::kPanel4x32I4))
      return Status{Code::ERR_INVALID_ARGUMENT, format("layout: expected 0 to 3, found %d", layout)};
    const Storage s{d, static_cast<Layout>(layout)};
    if ((s.dtype == DType::kI4) != (s.layout == Layout::kPanel4x32I4))
      return Status{Code::ERR_INVALID_ARGUMENT,
                    format("layout: expected panel_4x32_i4 for I4 and for nothing else, found %s for %s",
                           layout_name(s.layout), d == DType::kI4 ? "I4" : dtype_name(d))};
    if (s.dtype == DType::kI8 && s.layout == Layout::kRowMajor)
      return Status{Code::ERR_INVALID_ARGUMENT, "layout: expected a packed one for I8, found row_major"};
    return s;
  }
};

/// Rows [row_begin, row_end) of a packed matrix as f32 (capi/spiked.h).
inline void unpack_rows(const Matrix& w, size_t row_begin, size_t row_end, float* out) {
  std::vector<double> row(w.cols);
  for (size_t r = row_begin; r < row_end; ++r) {
    unpack_row(w, r, row.data());
    for (size_t c = 0; c < w.cols; ++c) *out++ = static_cast<float>(row[c]);
  }
}

}  // namespace spiked
