#ifndef SPIKED_ADDON_DESCRIBE_H
#define SPIKED_ADDON_DESCRIBE_H

#include <napi.h>

#include <string>

namespace spiked::addon {

/// What a message says of a value: `3`, `"text"`, `an Array`, `undefined`. Runs no JS.
std::string describe(const Napi::Value& value);

/// A number as JS shows it, near enough: integers without a fraction.
std::string shown(double number);

}  // namespace spiked::addon

#endif
