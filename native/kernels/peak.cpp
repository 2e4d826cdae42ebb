#include "kernels/peak.h"

#include <cstring>

namespace spiked::kernels {

#define SPIKED_PEAKS(isa)      \
  namespace isa {              \
  uint64_t peak_f32(size_t);   \
  uint64_t peak_i8(size_t);    \
  uint64_t peak_i16(size_t);   \
  uint64_t peak_i4_i8(size_t); \
  uint64_t peak_t2_i8(size_t); \
  }
SPIKED_PEAKS(avx2)
SPIKED_PEAKS(avx2_vnni)
SPIKED_PEAKS(neon)
SPIKED_PEAKS(neon_dotprod)
#undef SPIKED_PEAKS

namespace {

#if defined(SPIKED_HAVE_AVX2)
constexpr Peaks kAvx2 = {
    {"vfmadd231ps", avx2::peak_f32},          {"vpmaddubsw, vpmaddwd, vpaddd", avx2::peak_i8},
    {"vpmaddwd, vpaddd", avx2::peak_i16},     {"2 vpmaddubsw, vpaddw, vpmaddwd, vpaddd", avx2::peak_i4_i8},
    {"vpmaddubsw, vpaddw", avx2::peak_t2_i8},
};
constexpr Peaks kAvx2Vnni = {
    {"vfmadd231ps", avx2::peak_f32},  {"vpdpbusd", avx2_vnni::peak_i8}, {"vpmaddwd, vpaddd", avx2::peak_i16},
    {"vpdpbusd", avx2_vnni::peak_i8}, {"vpdpbusd", avx2_vnni::peak_i8},
};
#endif

#if defined(SPIKED_HAVE_NEON)
constexpr Peaks kNeon = {
    {"fmla", neon::peak_f32},
    {"smull, smlal2, sadalp", neon::peak_i8},
    {"smlal, smlal2", neon::peak_i16},
    {"smull, smlal2, sadalp", neon::peak_i8},
    {"smlal, smlal2", neon::peak_t2_i8},
};
constexpr Peaks kNeonDotprod = {
    {"fmla", neon::peak_f32},        {"sdot", neon_dotprod::peak_i8}, {"2 sdot", neon_dotprod::peak_i16},
    {"sdot", neon_dotprod::peak_i8}, {"sdot", neon_dotprod::peak_i8},
};
#endif

}  // namespace

const Peaks* peaks(const char* isa) {
#if defined(SPIKED_HAVE_AVX2)
  if (std::strcmp(isa, "avx2") == 0) return &kAvx2;
  if (std::strcmp(isa, "avx2_vnni") == 0) return &kAvx2Vnni;
#endif
#if defined(SPIKED_HAVE_NEON)
  if (std::strcmp(isa, "neon") == 0) return &kNeon;
  if (std::strcmp(isa, "neon_dotprod") == 0) return &kNeonDotprod;
#endif
  static_cast<void>(isa);
  return nullptr;
}

}  // namespace spiked::kernels
