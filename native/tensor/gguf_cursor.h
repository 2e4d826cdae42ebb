#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace spiked {

/// Bounds-checked little-endian reader over a mapped file; every read says whether it fitted.
class GgufCursor {
 public:
  GgufCursor(const uint8_t* base, uint64_t size) : base_(base), size_(size) {}
  uint64_t left() const { return size_ - at_; }
  uint64_t position() const { return at_; }
  const uint8_t* here() const { return base_ + at_; }
  bool skip(uint64_t n) {
    if (n > left()) return false;
    at_ += n;
    return true;
  }
  template <typename T>
  bool read(T& out) {
    if (sizeof(T) > left()) return false;
    std::memcpy(&out, base_ + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  bool read_string(std::string_view& out, uint64_t max_bytes) {
    uint64_t n = 0;
    if (!read(n) || n > left() || n > max_bytes) return false;
    out = {reinterpret_cast<const char*>(base_ + at_), static_cast<size_t>(n)};
    at_ += n;
    return true;
  }

 private:
  const uint8_t* base_;
  uint64_t size_, at_ = 0;
};

}  // namespace spiked
