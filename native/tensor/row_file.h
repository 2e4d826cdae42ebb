#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensor/gguf.h"

namespace spiked {

/// A tensor's rows, read from its file when they are needed instead of being mapped. Thread-safe.
class RowFile {
 public:
  /// The rows (dims[0] elements each) of a tensor of an open file.
  /// Errors: ERR_FILE_NOT_FOUND, ERR_FILE_IO; ERR_MODEL_FILE_CHANGED when the path names another file meanwhile.
  static Result<std::shared_ptr<const RowFile>> open(const GgufFile& file, const GgufTensor& tensor);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  size_t n_rows() const { return n_rows_; }
  size_t row_bytes() const { return row_bytes_; }
  /// Rows [begin, end) into out, [end - begin, row_bytes()]. Errors: ERR_FILE_IO; ERR_MODEL_FILE_CHANGED when the file became shorter.
  Status read(size_t begin, size_t end, void* out) const;

 private:
  RowFile() = default;

  std::string path_, name_;
  int fd_ = -1;
  uint64_t offset_ = 0;
  size_t n_rows_ = 0, row_bytes_ = 0;
};

}  // namespace spiked
