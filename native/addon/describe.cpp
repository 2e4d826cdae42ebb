#include "describe.h"

#include <cmath>
#include <cstdio>

namespace spiked::addon {
namespace {

std::string typed_array_name(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
      return "an Int8Array";
    case napi_uint8_array:
      return "a Uint8Array";
    case napi_uint8_clamped_array:
      return "a Uint8ClampedArray";
    case napi_int16_array:
      return "an Int16Array";
    case napi_uint16_array:
      return "a Uint16Array";
    case napi_int32_array:
      return "an Int32Array";
    case napi_uint32_array:
      return "a Uint32Array";
    case napi_float32_array:
      return "a Float32Array";
    case napi_float64_array:
      return "a Float64Array";
    case napi_bigint64_array:
      return "a BigInt64Array";
    case napi_biguint64_array:
      return "a BigUint64Array";
    default:
      return "a typed array";
  }
}

std::string quoted(const std::string& text) {
  constexpr size_t kShownBytes = 40;
  if (text.size() <= kShownBytes) return '"' + text + '"';
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return '"' + text.substr(0, end) + "\"... (" + std::to_string(text.size()) + " bytes)";
}

std::string big(const Napi::BigInt& value) {
  bool lossless = false;
  const int64_t number = value.Int64Value(&lossless);
  return lossless ? std::to_string(number) + "n" : "a bigint outside 64 bits";
}

}  // namespace

std::string shown(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  char text[32];
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e15;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", number);
  return text;
}

std::string describe(const Napi::Value& value) {
  if (value.IsEmpty() || value.IsUndefined()) return "undefined";
  if (value.IsNull()) return "null";
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value() ? "true" : "false";
  if (value.IsNumber()) return shown(value.As<Napi::Number>().DoubleValue());
  if (value.IsString()) return quoted(value.As<Napi::String>().Utf8Value());
  if (value.IsBigInt()) return big(value.As<Napi::BigInt>());
  if (value.IsSymbol()) return "a symbol";
  if (value.IsFunction()) return "a function";
  if (value.IsTypedArray()) return typed_array_name(value.As<Napi::TypedArray>().TypedArrayType());
  if (value.IsArray()) return "an Array";
  if (value.IsPromise()) return "a Promise";
  return "an object";
}

}  // namespace spiked::addon
