#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace spiked {

/// Alignment of tensors and buffers: one cache line, and no less than any vector register.
inline constexpr size_t kAlign = 64;

constexpr size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// Zeroed, kAlign-aligned array owned by one holder. Pages untouched so far cost no resident memory.
template <typename T>
class AlignedArray {
 public:
  AlignedArray() = default;
  /// Throws std::bad_alloc, which the C API turns into ERR_NO_MEMORY.
  explicit AlignedArray(size_t n) : size_(n) {
    const size_t size_bytes = n * sizeof(T) + kAlign;
    if (n > (SIZE_MAX - kAlign) / sizeof(T)) throw std::bad_alloc();
    raw_.reset(static_cast<unsigned char*>(std::calloc(size_bytes, 1)));
    if (!raw_) throw std::bad_alloc();
    const auto address = reinterpret_cast<uintptr_t>(raw_.get());
    data_ = reinterpret_cast<T*>(round_up(address, kAlign));
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void zero() {
    if (size_ != 0) std::memset(static_cast<void*>(data_), 0, size_ * sizeof(T));
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> raw_;
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace spiked
