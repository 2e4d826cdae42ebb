#include "capi/spiked.h"

#ifndef SPIKED_VERSION
#error "SPIKED_VERSION comes from package.json through CMake"
#endif

void spiked_build_info(spiked_build* out) {
  out->version = SPIKED_VERSION;
  out->commit = SPIKED_COMMIT;
#if defined(__clang__)
  out->compiler = "clang " __clang_version__;
#else
  out->compiler = "gcc " __VERSION__;
#endif
  out->numerics_version = 1;
  out->model_format_version = 1;
}
