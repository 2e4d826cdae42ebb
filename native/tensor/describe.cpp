#include "tensor/describe.h"

#include <cmath>
#include <cstring>

namespace spiked {
namespace {

constexpr uint64_t kInlineElements = 64;
constexpr uint64_t kSafeInteger = 1ull << 53;

// Length of the valid UTF-8 sequence at s (0 when invalid): RFC 3629, no surrogates, no overlong forms.
size_t utf8_length(const unsigned char* s, size_t left) {
  const unsigned char c = s[0];
  if (c < 0x80) return 1;
  const size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4 || n > left) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return n;
}

void put_string(std::string& out, std::string_view s) {
  out += '"';
  const auto* p = reinterpret_cast<const unsigned char*>(s.data());
  for (size_t i = 0; i < s.size();) {
    const size_t n = utf8_length(p + i, s.size() - i);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else if (n == 1 && (p[i] < 0x20 || p[i] == '"' || p[i] == '\\')) {
      out += format("\\u%04x", p[i]);
      ++i;
    } else {
      out.append(s, i, n);
      i += n;
    }
  }
  out += '"';
}

void put_u64(std::string& out, uint64_t v) {
  out +=
      v <= kSafeInteger ? format("%llu", (unsigned long long)v) : format("\"%llu\"", (unsigned long long)v);
}

void put_i64(std::string& out, int64_t v) {
  const bool safe = v >= -static_cast<int64_t>(kSafeInteger) && v <= static_cast<int64_t>(kSafeInteger);
  out += format(safe ? "%lld" : "\"%lld\"", (long long)v);
}

void put_f64(std::string& out, double v, int digits) {
  out += std::isfinite(v) ? format("%.*g", digits, v) : format("\"%g\"", v);
}

template <typename T>
T load(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Writes the scalar at p and returns the bytes it takes.
size_t put_scalar(std::string& out, GgufType type, const uint8_t* p) {
  switch (type) {
    case GgufType::kU8:
      put_u64(out, *p);
      return 1;
    case GgufType::kI8:
      put_i64(out, load<int8_t>(p));
      return 1;
    case GgufType::kU16:
      put_u64(out, load<uint16_t>(p));
      return 2;
    case GgufType::kI16:
      put_i64(out, load<int16_t>(p));
      return 2;
    case GgufType::kU32:
      put_u64(out, load<uint32_t>(p));
      return 4;
    case GgufType::kI32:
      put_i64(out, load<int32_t>(p));
      return 4;
    case GgufType::kF32:
      put_f64(out, static_cast<double>(load<float>(p)), 9);
      return 4;
    case GgufType::kBool:
      out += *p != 0 ? "true" : "false";
      return 1;
    case GgufType::kU64:
      put_u64(out, load<uint64_t>(p));
      return 8;
    case GgufType::kI64:
      put_i64(out, load<int64_t>(p));
      return 8;
    case GgufType::kF64:
      put_f64(out, load<double>(p), 17);
      return 8;
    case GgufType::kString: {
      const auto n = load<uint64_t>(p);
      put_string(out, {reinterpret_cast<const char*>(p + 8), static_cast<size_t>(n)});
      return 8 + static_cast<size_t>(n);
    }
    case GgufType::kArray:
      break;
  }
  return 0;
}

void put_entry(std::string& out, const GgufFile& file, const GgufEntry& e) {
  out += "{\"key\":";
  put_string(out, e.key);
  out += format(",\"type\":\"%s\"", gguf_type_name(static_cast<uint32_t>(e.type)));
  if (e.type == GgufType::kArray) {
    out +=
        format(",\"element_type\":\"%s\",\"length\":", gguf_type_name(static_cast<uint32_t>(e.element_type)));
    put_u64(out, e.length);
    out += ",\"offset_bytes\":";
    put_u64(out, file.offset_of(e.data));
    if (e.length <= kInlineElements) {
      out += ",\"value\":[";
      const uint8_t* p = e.data;
      for (uint64_t i = 0; i < e.length; ++i) {
        if (i != 0) out += ',';
        p += put_scalar(out, e.element_type, p);
      }
      out += ']';
    }
  } else {
    out += ",\"value\":";
    if (e.type == GgufType::kString)
      put_string(out, {reinterpret_cast<const char*>(e.data), static_cast<size_t>(e.length)});
    else
      put_scalar(out, e.type, e.data);
  }
  out += '}';
}

}  // namespace

std::string describe_json(const GgufFile& file) {
  std::string out = format("{\"version\":3,\"alignment\":%u,\"data_offset\":", file.alignment());
  put_u64(out, file.data_offset());
  out += ",\"size_bytes\":";
  put_u64(out, file.size_bytes());
  out += ",\"metadata\":[";
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    if (i != 0) out += ',';
    put_entry(out, file, file.metadata()[i]);
  }
  out += "],\"tensors\":[";
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const GgufTensor& t = file.tensors()[i];
    out += i != 0 ? ",{\"name\":" : "{\"name\":";
    put_string(out, t.name);
    out += format(",\"type\":\"%s\",\"dims\":[", ggml_type_name(t.type));
    for (uint32_t d = 0; d < t.n_dims; ++d) {
      if (d != 0) out += ',';
      put_u64(out, t.dims[d]);
    }
    out += "],\"offset_bytes\":";
    put_u64(out, file.offset_of(t.data));
    out += ",\"size_bytes\":";
    put_u64(out, t.size_bytes);
    out += '}';
  }
  out += "]}";
  return out;
}

}  // namespace spiked
