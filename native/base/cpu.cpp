#include "base/cpu.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace spiked {
namespace {

CpuFeatures detect() {
  CpuFeatures f{};
#if defined(__x86_64__)
  // Also asks the operating system whether it saves the wide registers.
  __builtin_cpu_init();
  f.avx2 = __builtin_cpu_supports("avx2") != 0;
  f.fma = __builtin_cpu_supports("fma") != 0;
#elif defined(__aarch64__)
  const unsigned long bits = getauxval(AT_HWCAP);
  f.asimd = (bits & HWCAP_ASIMD) != 0;
  f.asimd_dotprod = (bits & HWCAP_ASIMDDP) != 0;
#endif
  return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace spiked
