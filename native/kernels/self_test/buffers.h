#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/aligned.h"
#include "kernels/self_test/compare.h"
#include "kernels/self_test/pattern.h"
#include "kernels/self_test/tally.h"

namespace spiked::kernels::testing {

/// n values that start `offset` values after an aligned address and end where the allocation ends, so that an address
/// sanitizer sees a read past them.
template <typename T>
class Input {
 public:
  Input(Random& random, Pattern pattern, size_t n, size_t offset = 0) : Input(n, offset) {
    fill(random, pattern, data(), n);
  }
  explicit Input(size_t n, size_t offset = 0) : n_(n), offset_(offset) {
    void* raw = nullptr;
    if (posix_memalign(&raw, kAlign, (n + offset) * sizeof(T)) != 0) throw std::bad_alloc();
    raw_.reset(static_cast<T*>(raw));
  }
  T* data() { return raw_.get() + offset_; }
  const T* data() const { return raw_.get() + offset_; }
  T& operator[](size_t i) { return data()[i]; }
  size_t size() const { return n_; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> raw_;
  size_t n_, offset_;
};

/// What scalar wrote and what the tested kernel wrote: two copies of n values with the same content to begin with, each
/// between guard bytes.
template <typename T>
class Output {
 public:
  Output(const T* initial, size_t n, size_t offset) : n_(n), offset_(offset) {
    for (AlignedArray<unsigned char>* copy : {&reference_, &tested_}) {
      *copy = AlignedArray<unsigned char>(2 * kGuardBytes + (n + offset) * sizeof(T));
      std::memset(copy->data(), kGuard, copy->size());
      if (n != 0) std::memcpy(at(*copy), initial, n * sizeof(T));
    }
  }
  T* reference() { return reinterpret_cast<T*>(at(reference_)); }
  T* tested() { return reinterpret_cast<T*>(at(tested_)); }

  /// The first n_defined values must be equal, and the guards of both copies whole.
  void compare(Tally& tally, const char* what, size_t n_defined) {
    for (size_t i = 0; i < n_defined; ++i) {
      if (same(reference()[i], tested()[i])) continue;
      tally.fail(difference(what, i, reference()[i], tested()[i]));
      break;
    }
    check_guards(tally, what, "scalar", reference_);
    check_guards(tally, what, "tested kernel", tested_);
  }
  void compare(Tally& tally, const char* what) { compare(tally, what, n_); }

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr unsigned char kGuard = 0xa5;

  unsigned char* at(AlignedArray<unsigned char>& copy) {
    return copy.data() + kGuardBytes + offset_ * sizeof(T);
  }
  void check_guards(Tally& tally, const char* what, const char* who, AlignedArray<unsigned char>& copy) {
    const size_t begin = kGuardBytes + offset_ * sizeof(T), end = begin + n_ * sizeof(T);
    for (size_t i = 0; i < copy.size(); ++i) {
      if ((i >= begin && i < end) || copy[i] == kGuard) continue;
      tally.fail(overrun(what, who, static_cast<long>(i) - static_cast<long>(i < begin ? begin : end)));
      return;
    }
  }

  size_t n_, offset_;
  AlignedArray<unsigned char> reference_, tested_;
};

}  // namespace spiked::kernels::testing
