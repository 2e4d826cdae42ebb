#pragma once
#include <string>

#include "tensor/gguf.h"

namespace spiked {

/// The file's metadata and tensor table as one JSON text (form: capi/spiked.h, spiked_file_describe). Arrays longer than 64
/// elements are given by offset and length only; integers past 2^53 and non-finite floats become strings; invalid UTF-8 becomes U+FFFD.
std::string describe_json(const GgufFile& file);

}  // namespace spiked
