#pragma once
#include <cstdio>
#include <exception>
#include <new>

#include "base/status.h"
#include "capi/spiked.h"

namespace spiked::capi {

inline spiked_status report(const Status& status, spiked_error* error) {
  const auto code = static_cast<int32_t>(status.code());
  if (error != nullptr) {
    error->code = code;
    std::snprintf(error->message, sizeof error->message, "%s", status.message().c_str());
  }
  return code;
}

/// Runs body, which returns a Status, and lets no exception cross the boundary.
template <typename F>
spiked_status guard(spiked_error* error, F&& body) {
  try {
    return report(body(), error);
  } catch (const std::bad_alloc&) {
    return report({Code::ERR_NO_MEMORY, "memory could not be allocated"}, error);
  } catch (const std::exception& e) {
    return report({Code::ERR_INTERNAL, std::string("unexpected exception: ") + e.what()}, error);
  }
}

inline Status require(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return {Code::ERR_INVALID_ARGUMENT, std::string(name) + ": expected a pointer, found NULL"};
}

}  // namespace spiked::capi
