#include <cstring>

#include "tensor/gguf.h"

namespace spiked {
namespace {

Result<const GgufEntry*> require(const GgufFile& file, std::string_view key, GgufType type) {
  const std::string k(key);
  const GgufEntry* e = file.find(key);
  if (e == nullptr)
    return Status{Code::ERR_MODEL_INVALID,
                  format("%s: metadata \"%s\" is missing", file.path().c_str(), k.c_str())};
  if (e->type != type)
    return Status{
        Code::ERR_MODEL_INVALID,
        format("%s: metadata \"%s\": expected type %s, found %s", file.path().c_str(), k.c_str(),
               gguf_type_name(static_cast<uint32_t>(type)), gguf_type_name(static_cast<uint32_t>(e->type)))};
  return e;
}

template <typename T>
Result<T> scalar(const GgufFile& file, std::string_view key, GgufType type) {
  auto e = require(file, key, type);
  if (!e.ok()) return e.status();
  T out{};
  std::memcpy(&out, e.value()->data, sizeof(T));
  return out;
}

}  // namespace

Result<uint32_t> get_u32(const GgufFile& file, std::string_view key) {
  return scalar<uint32_t>(file, key, GgufType::kU32);
}
Result<float> get_f32(const GgufFile& file, std::string_view key) {
  return scalar<float>(file, key, GgufType::kF32);
}

Result<bool> get_bool(const GgufFile& file, std::string_view key) {
  auto byte = scalar<uint8_t>(file, key, GgufType::kBool);
  if (!byte.ok()) return byte.status();
  return byte.value() != 0;
}

Result<std::string_view> get_string(const GgufFile& file, std::string_view key) {
  auto e = require(file, key, GgufType::kString);
  if (!e.ok()) return e.status();
  return std::string_view(reinterpret_cast<const char*>(e.value()->data),
                          static_cast<size_t>(e.value()->length));
}

Result<std::vector<uint64_t>> get_u64_array(const GgufFile& file, std::string_view key) {
  auto e = require(file, key, GgufType::kArray);
  if (!e.ok()) return e.status();
  if (e.value()->element_type != GgufType::kU64 || e.value()->length > 8)
    return Status{Code::ERR_MODEL_INVALID, format("%s: metadata \"%s\": expected an array of at most 8 u64",
                                                  file.path().c_str(), std::string(key).c_str())};
  std::vector<uint64_t> out(e.value()->length);
  if (!out.empty()) std::memcpy(out.data(), e.value()->data, out.size() * 8);
  return out;
}

}  // namespace spiked
