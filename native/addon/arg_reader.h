#ifndef SPIKED_ADDON_ARG_READER_H
#define SPIKED_ADDON_ARG_READER_H

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "failure.h"

namespace spiked::addon {

/// Reads the arguments of one call. The first that does not fit is kept as `failure()`; what is read after it
/// is meaningless.
class ArgReader {
 public:
  explicit ArgReader(Napi::Env env) : env_(env) {}

  /// A string without NUL characters.
  std::string string(const Napi::Value& value, const std::string& name);
  bool boolean(const Napi::Value& value, const std::string& name);
  double number(const Napi::Value& value, const std::string& name, double min, double max);
  double integer(const Napi::Value& value, const std::string& name, double min, double max);
  /// 0 <= value < 2^64.
  uint64_t u64(const Napi::Value& value, const std::string& name);
  std::vector<int32_t> ids(const Napi::Value& value, const std::string& name);
  Napi::Float32Array floats(const Napi::Value& value, const std::string& name);
  /// A Uint8Array of `size_bytes` that begins at a multiple of 4, so that it may hold f32.
  Napi::Uint8Array bytes(const Napi::Value& value, const std::string& name, size_t size_bytes);
  Napi::Function function(const Napi::Value& value, const std::string& name);
  Napi::Object object(const Napi::Value& value, const std::string& name);
  /// object[key]; `name` is how messages call it.
  Napi::Value property(const Napi::Object& object, const char* key, const std::string& name);
  /// The index of `value` among the choices.
  size_t choice(const Napi::Value& value, const std::string& name, const std::vector<std::string>& choices);

  bool failed() const { return static_cast<bool>(failure_); }
  const Failure& failure() const { return failure_; }
  void fail(const std::string& name, const std::string& expected, const std::string& found);

 private:
  Napi::Env env_;
  Failure failure_;
};

}  // namespace spiked::addon

#endif
