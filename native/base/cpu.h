#pragma once

namespace spiked {

/// What this CPU and its operating system offer, of the features that some ISA folder needs.
struct CpuFeatures {
  bool avx2, fma, f16c, avx_vnni;
  bool asimd, asimd_dotprod;
};

const CpuFeatures& cpu_features();

}  // namespace spiked
