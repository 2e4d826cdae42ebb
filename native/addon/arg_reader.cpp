#include "arg_reader.h"

#include <cmath>

#include "describe.h"

namespace spiked::addon {

void ArgReader::fail(const std::string& name, const std::string& expected, const std::string& found) {
  if (!failed()) failure_ = invalid(name + ": expected " + expected + ", found " + found);
}

std::string ArgReader::string(const Napi::Value& value, const std::string& name) {
  if (!value.IsString()) {
    fail(name, "a string", describe(value));
    return {};
  }
  std::string text = value.As<Napi::String>().Utf8Value();
  const size_t nul = text.find('\0');
  if (nul != std::string::npos) fail(name, "a string without NUL", "one at byte " + std::to_string(nul));
  return text;
}

bool ArgReader::boolean(const Napi::Value& value, const std::string& name) {
  if (!value.IsBoolean()) {
    fail(name, "a boolean", describe(value));
    return false;
  }
  return value.As<Napi::Boolean>().Value();
}

double ArgReader::number(const Napi::Value& value, const std::string& name, double min, double max) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (number >= min && number <= max) return number;  // false for NaN
  fail(name, "a number from " + shown(min) + " to " + shown(max), describe(value));
  return min;
}

double ArgReader::integer(const Napi::Value& value, const std::string& name, double min, double max) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (number >= min && number <= max && number == std::floor(number)) return number;
  fail(name, "an integer from " + shown(min) + " to " + shown(max), describe(value));
  return min;
}

uint64_t ArgReader::u64(const Napi::Value& value, const std::string& name) {
  bool lossless = false;
  uint64_t number = 0;
  if (value.IsBigInt()) number = value.As<Napi::BigInt>().Uint64Value(&lossless);
  if (!lossless) fail(name, "a bigint from 0 to 2^64 - 1", describe(value));
  return number;
}

std::vector<int32_t> ArgReader::ids(const Napi::Value& value, const std::string& name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
    fail(name, "an Int32Array", describe(value));
    return {};
  }
  // A copy: JS may change the array while the engine reads.
  const auto array = value.As<Napi::Int32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

Napi::Float32Array ArgReader::floats(const Napi::Value& value, const std::string& name) {
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    return value.As<Napi::Float32Array>();
  }
  fail(name, "a Float32Array", describe(value));
  return {};
}

Napi::Uint8Array ArgReader::bytes(const Napi::Value& value, const std::string& name, size_t size_bytes) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    fail(name, "a Uint8Array", describe(value));
    return {};
  }
  const Napi::Uint8Array bytes = value.As<Napi::Uint8Array>();
  if (bytes.ByteLength() != size_bytes || bytes.ByteOffset() % sizeof(float) != 0) {
    fail(name, std::to_string(size_bytes) + " bytes at a multiple of 4",
         std::to_string(bytes.ByteLength()) + " at " + std::to_string(bytes.ByteOffset()));
    return {};
  }
  return bytes;
}

Napi::Function ArgReader::function(const Napi::Value& value, const std::string& name) {
  if (value.IsFunction()) return value.As<Napi::Function>();
  fail(name, "a function", describe(value));
  return {};
}

Napi::Object ArgReader::object(const Napi::Value& value, const std::string& name) {
  if (value.IsObject()) return value.As<Napi::Object>();
  fail(name, "an object", describe(value));
  return {};
}

Napi::Value ArgReader::property(const Napi::Object& object, const char* key, const std::string& name) {
  if (failed()) return env_.Undefined();
  Napi::Value value = object.Get(key);
  if (env_.IsExceptionPending()) {
    const std::string why = env_.GetAndClearPendingException().Message();
    fail(name, "a property that can be read", "one that throws \"" + why + "\"");
    return env_.Undefined();
  }
  return value;
}

size_t ArgReader::choice(const Napi::Value& value, const std::string& name,
                         const std::vector<std::string>& choices) {
  const std::string text = value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
  std::string expected;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (text == choices[i]) return i;
    expected += (i == 0 ? "\"" : i + 1 == choices.size() ? " or \"" : ", \"") + choices[i] + "\"";
  }
  fail(name, expected, describe(value));
  return 0;
}

}  // namespace spiked::addon
