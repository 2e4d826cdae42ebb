#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/gguf.h"

namespace spiked {

/// A tensor's rows, read from its file when they are needed instead of through the mapping; the file has to outlive it. Thread-safe.
class RowFile {
 public:
  /// The rows (dims[0] elements each) of a tensor of a mapped file.
  RowFile(const GgufFile& file, const GgufTensor& tensor)
      : file_(file),
        name_(tensor.name),
        offset_(file.offset_of(tensor.data)),
        row_bytes_(tensor.size_bytes / (tensor.dims[1] * tensor.dims[2] * tensor.dims[3])) {}

  size_t row_bytes() const { return row_bytes_; }
  /// Rows [begin, end) into out, [end - begin, row_bytes()]. Errors: ERR_FILE_IO; ERR_MODEL_FILE_CHANGED when the file became shorter.
  Status read(size_t begin, size_t end, void* out) const {
    const Status status = file_.read_at(offset_ + begin * row_bytes_, (end - begin) * row_bytes_, out);
    if (status.ok()) return status;
    return {status.code(), format("%s: tensor \"%s\", rows from %zu: %s", file_.path().c_str(), name_.c_str(),
                                  begin, status.message().c_str())};
  }

 private:
  const GgufFile& file_;
  std::string name_;
  uint64_t offset_;
  size_t row_bytes_;
};

}  // namespace spiked
