#ifndef SPIKED_ADDON_FAILURE_H
#define SPIKED_ADDON_FAILURE_H

#include <napi.h>

#include <cstdint>
#include <string>

#include "capi/spiked.h"

namespace spiked::addon {

/// An error on its way to JS: plain data, so that any thread may hold it.
struct Failure {
  int32_t code = SPIKED_OK;
  std::string message;

  explicit operator bool() const { return code != SPIKED_OK; }
};

inline Failure failure_of(const spiked_error& error) { return {error.code, error.message}; }
inline Failure invalid(std::string message) { return {SPIKED_ERR_INVALID_ARGUMENT, std::move(message)}; }

/// The JS error that the factory given to setErrorFactory makes of it. JS thread only, as all below.
Napi::Error make_error(Napi::Env env, const Failure& failure);

/// Throws it; returns an empty value for the callback to return.
Napi::Value raise(Napi::Env env, const Failure& failure);

/// A promise that is rejected with it.
Napi::Value rejection(Napi::Env env, const Failure& failure);

}  // namespace spiked::addon

#endif
