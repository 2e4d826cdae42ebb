#pragma once
#include <cstddef>
#include <string>

#include "base/status.h"
#include "tensor/describe.h"
#include "tensor/pack.h"

namespace spiked {

/// JSON description of any GGUF file (capi/spiked.h). Errors: those of GgufFile::open.
inline Result<std::string> describe_file(const std::string& path) {
  auto file = GgufFile::open(path);
  if (!file.ok()) return file.status();
  return describe_json(*file.value());
}

/// The storage a caller named by number, or the error that says it is none.
struct Storage {
  DType dtype;
  Layout layout;
  static Result<Storage> of(int32_t dtype, int32_t layout) {
    if (dtype != static_cast<int32_t>(DType::kF32) && dtype != static_cast<int32_t>(DType::kI8))
      return Status{Code::ERR_INVALID_ARGUMENT,
                    format("dtype: expected 0 (F32) or 24 (I8), found %d", dtype)};
    if (layout < 0 || layout > static_cast<int32_t>(Layout::kColumnMajor))
      return Status{Code::ERR_INVALID_ARGUMENT, format("layout: expected 0, 1 or 2, found %d", layout)};
    return Storage{static_cast<DType>(dtype), static_cast<Layout>(layout)};
  }
};

}  // namespace spiked
