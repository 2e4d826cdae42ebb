#pragma once
#include "kernels/kernels.h"
#include "kernels/self_test/tally.h"

/// One sweep a kernel: runs those of `scalar` and `tested` over the same inputs and tells the tally where they differ.
namespace spiked::kernels::testing {

#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) \
  void sweep_##name(const Kernels& scalar, const Kernels& tested, Tally& tally);
#include "kernels/list.def"
#undef SPIKED_KERNEL

}  // namespace spiked::kernels::testing
