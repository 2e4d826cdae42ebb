#include "kernels/dispatch.h"

#include <string>
#include <type_traits>

#include "base/cpu.h"

namespace spiked::kernels {

// Every folder's functions by list.def; an ISA that takes another folder's version never defines its own.
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) std::remove_pointer_t<type> name;
namespace scalar {
#include "kernels/list.def"
}
namespace avx2 {
#include "kernels/list.def"
}
namespace avx2_vnni {
#include "kernels/list.def"
}
namespace neon {
#include "kernels/list.def"
}
namespace neon_dotprod {
#include "kernels/list.def"
}
#undef SPIKED_KERNEL

namespace {

constexpr Kernels kScalar = {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) scalar::name,
#include "kernels/list.def"
#undef SPIKED_KERNEL
};

#if defined(SPIKED_HAVE_AVX2)
constexpr Kernels kAvx2 = {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) avx2::name,
#include "kernels/list.def"
#undef SPIKED_KERNEL
};
constexpr Kernels kAvx2Vnni = {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) avx2_vnni::name,
#include "kernels/list.def"
#undef SPIKED_KERNEL
};
constexpr const Kernels* kAvx2Table = &kAvx2;
constexpr const Kernels* kAvx2VnniTable = &kAvx2Vnni;
#else
constexpr const Kernels* kAvx2Table = nullptr;
constexpr const Kernels* kAvx2VnniTable = nullptr;
#endif

#if defined(SPIKED_HAVE_NEON)
constexpr Kernels kNeon = {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) neon::name,
#include "kernels/list.def"
#undef SPIKED_KERNEL
};
constexpr Kernels kNeonDotprod = {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) neon_dotprod::name,
#include "kernels/list.def"
#undef SPIKED_KERNEL
    layout::I16Order::kBytePlanes,
};
constexpr const Kernels* kNeonTable = &kNeon;
constexpr const Kernels* kNeonDotprodTable = &kNeonDotprod;
#else
constexpr const Kernels* kNeonTable = nullptr;
constexpr const Kernels* kNeonDotprodTable = nullptr;
#endif

Isa row(const char* name, bool cpu_has_it, const Kernels* kernels) {
  return {name, kernels != nullptr && cpu_has_it, kernels};
}

std::string supported_names() {
  std::string names;
  for (const Isa& isa : isas()) {
    if (isa.supported) names += (names.empty() ? "" : ", ") + std::string(isa.name);
  }
  return names;
}

}  // namespace

const std::vector<Isa>& isas() {
  static const std::vector<Isa> table = [] {
    const CpuFeatures& cpu = cpu_features();
    const bool avx2 = cpu.avx2 && cpu.fma && cpu.f16c;
    return std::vector<Isa>{
        row("avx2_vnni", avx2 && cpu.avx_vnni, kAvx2VnniTable),
        row("avx2", avx2, kAvx2Table),
        row("neon_dotprod", cpu.asimd && cpu.asimd_dotprod, kNeonDotprodTable),
        row("neon", cpu.asimd, kNeonTable),
        row("scalar", true, &kScalar),
    };
  }();
  return table;
}

Result<const Isa*> select(std::string_view forced) {
  for (const Isa& isa : isas()) {
    if (forced.empty() ? isa.supported : forced == isa.name && isa.supported) return &isa;
  }
  bool known = false;
  for (const Isa& isa : isas()) known = known || forced == isa.name;
  return Status(
      Code::ERR_ISA_UNSUPPORTED,
      format("instruction set \"%.64s\": %s; expected one of: %s", std::string(forced).c_str(),
             known ? "this CPU or this build lacks it" : "no such name", supported_names().c_str()));
}

}  // namespace spiked::kernels
