#include "tensor/row_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spiked {

Result<std::shared_ptr<const RowFile>> RowFile::open(const GgufFile& file, const GgufTensor& tensor) {
  std::shared_ptr<RowFile> rows(new RowFile());
  rows->path_ = file.path();
  rows->name_ = std::string(tensor.name);
  rows->n_rows_ = tensor.size_bytes == 0 ? 0 : tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
  rows->row_bytes_ = tensor.size_bytes / rows->n_rows_;
  rows->offset_ = file.offset_of(tensor.data);
  rows->fd_ = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (rows->fd_ < 0)
    return Status{errno == ENOENT ? Code::ERR_FILE_NOT_FOUND : Code::ERR_FILE_IO,
                  file.path() + ": " + std::strerror(errno)};
  struct stat found {};
  if (fstat(rows->fd_, &found) != 0)
    return Status{Code::ERR_FILE_IO, file.path() + ": " + std::strerror(errno)};
  if (static_cast<uint64_t>(found.st_size) != file.size_bytes())
    return Status{Code::ERR_MODEL_FILE_CHANGED,
                  format("%s: expected %llu bytes as when it was opened, found %llu", file.path().c_str(),
                         (unsigned long long)file.size_bytes(), (unsigned long long)found.st_size)};
  SPIKED_TRY(file.unchanged());
  return std::shared_ptr<const RowFile>(std::move(rows));
}

RowFile::~RowFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status RowFile::read(size_t begin, size_t end, void* out) const {
  auto* to = static_cast<uint8_t*>(out);
  uint64_t at = offset_ + begin * row_bytes_;
  for (size_t left = (end - begin) * row_bytes_; left != 0;) {
    const ssize_t n = pread(fd_, to, left, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return {Code::ERR_FILE_IO, format("%s: tensor \"%s\", row %zu: %s", path_.c_str(), name_.c_str(), begin,
                                        std::strerror(errno))};
    if (n == 0)
      return {Code::ERR_MODEL_FILE_CHANGED,
              format("%s: tensor \"%s\": the file ends before row %zu", path_.c_str(), name_.c_str(), end)};
    to += n;
    at += static_cast<uint64_t>(n);
    left -= static_cast<size_t>(n);
  }
  return {};
}

}  // namespace spiked
