#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>

namespace spiked {

/// Codes of errors.def; kOk is not in the table.
enum class Code : int32_t {
  kOk = 0,
#define SPIKED_ERROR(number, name, retry, meaning) name = number,
#include "base/errors.def"
#undef SPIKED_ERROR
};

/// The outcome of something that can fail: a code and one sentence naming the thing, expected and found.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}
  Result(Status status) : v_(std::move(status)) {}
  bool ok() const { return std::holds_alternative<T>(v_); }
  T& value() { return std::get<T>(v_); }
  const T& value() const { return std::get<T>(v_); }
  T take() { return std::move(std::get<T>(v_)); }
  const Status& status() const { return std::get<Status>(v_); }

 private:
  std::variant<T, Status> v_;
};

/// printf into a std::string, for error messages.
[[gnu::format(printf, 1, 2)]] std::string format(const char* fmt, ...);

}  // namespace spiked

#define SPIKED_TRY(expr)                                   \
  do {                                                     \
    ::spiked::Status spiked_try_status = (expr);           \
    if (!spiked_try_status.ok()) return spiked_try_status; \
  } while (0)
