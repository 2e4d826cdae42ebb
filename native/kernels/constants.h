#pragma once
#include "base/exp_constants.h"

/// Numbers that several ISA folders compute with.
namespace spiked::kernels::constants {

namespace exp = spiked::exp_constants;

}  // namespace spiked::kernels::constants
