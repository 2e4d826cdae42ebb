#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
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
  // Not names that every compiler's __builtin_cpu_supports knows; they use AVX's registers, which the system saves if avx2 is there.
  unsigned a, b, c, d;
  f.f16c = f.avx2 && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  f.avx_vnni = f.avx2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & bit_AVXVNNI) != 0;
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
