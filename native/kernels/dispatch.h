#pragma once
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/kernels.h"

namespace spiked::kernels {

/// One instruction set: its name, whether this build and this CPU have it, and its table.
struct Isa {
  const char* name;        ///< scalar | avx2 | avx2_vnni | neon | neon_dotprod
  bool supported;          ///< compiled in and present on this CPU
  const Kernels* kernels;  ///< null when not compiled in
};

/// Every ISA of the project in order of preference, best first, also those this CPU lacks.
const std::vector<Isa>& isas();

/// The ISA to use: `forced` by name, or the best supported when empty.
/// Errors: ERR_ISA_UNSUPPORTED when the name is unknown or this CPU lacks it (never a fallback).
Result<const Isa*> select(std::string_view forced);

}  // namespace spiked::kernels
