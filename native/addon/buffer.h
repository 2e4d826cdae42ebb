#ifndef SPIKED_ADDON_BUFFER_H
#define SPIKED_ADDON_BUFFER_H

#include <napi.h>

#include <cstddef>
#include <memory>
#include <new>

namespace spiked::addon {

/// Memory that the engine fills on its thread and JS then owns, without a copy. Unlike an ArrayBuffer made by
/// JS, whose failure ends the process, running out of memory is an error here.
template <typename T>
class Buffer {
 public:
  /// False when there is no memory.
  bool allocate(size_t length) {
    data_.reset(new (std::nothrow) T[length]);
    length_ = length;
    return data_ != nullptr;
  }
  T* data() { return data_.get(); }

  /// Gives the memory away; null when nothing was allocated.
  Napi::Value take(Napi::Env env) {
    if (!data_) return env.Null();
    T* raw = data_.release();
    auto memory = Napi::ArrayBuffer::New(env, raw, length_ * sizeof(T),
                                         [](Napi::Env, void* data) { delete[] static_cast<T*>(data); });
    return Napi::TypedArrayOf<T>::New(env, length_, memory, 0);
  }

 private:
  std::unique_ptr<T[]> data_;
  size_t length_ = 0;
};

}  // namespace spiked::addon

#endif
