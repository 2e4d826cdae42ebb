#include "kernels/self_test.h"

#include <string>

#include "kernels/self_test/faults.h"
#include "kernels/self_test/sweeps.h"

namespace spiked::kernels {
namespace {

using testing::Tally;

/// Every sweep must fail on its faulty kernel.
void check_faults(const Kernels& faulty, const char* fault, uint64_t seed, Tally& tally) {
  const Kernels& scalar = testing::scalar_kernels();
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod)         \
  {                                                                            \
    tally.begin_case(std::string(#name) + " that " + fault);                   \
    Tally planted(seed, true);                                                 \
    testing::sweep_##name(scalar, faulty, planted);                            \
    if (planted.failures() == 0) tally.fail("expected a failure, found none"); \
  }
#include "kernels/list.def"
#undef SPIKED_KERNEL
}

}  // namespace

Status self_test(const Isa& isa, uint64_t seed, SelfTestReport report, void* user) {
  if (!isa.supported) {
    return Status(Code::ERR_ISA_UNSUPPORTED,
                  format("self-test of \"%s\": this CPU or this build lacks the instruction set", isa.name));
  }
  const Kernels& scalar = testing::scalar_kernels();
  std::string first;
  uint64_t n_failed = 0;
  const auto conclude = [&](const char* name, const Tally& tally) {
    if (tally.failures() != 0) {
      ++n_failed;
      if (first.empty()) first = std::string(name) + ": " + tally.detail();
    }
    if (report != nullptr) report(user, name, tally.cases(), tally.failures(), tally.detail().c_str());
  };
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) \
  {                                                                    \
    Tally tally(seed, false);                                          \
    testing::sweep_##name(scalar, *isa.kernels, tally);                \
    conclude(#name, tally);                                            \
  }
#include "kernels/list.def"
#undef SPIKED_KERNEL
  Tally faults(seed, false);
  testing::check_helpers(faults);
  check_faults(testing::wrong_kernels(), "flips one bit", seed, faults);
  check_faults(testing::overrunning_kernels(), "writes past its end", seed, faults);
  conclude("planted_faults", faults);
  if (n_failed == 0) return Status();
  return Status(Code::ERR_CHECK_FAILED,
                format("self-test of \"%s\", seed %llu: expected the bits of scalar everywhere, found %llu "
                       "kernels that differ; first: %s",
                       isa.name, static_cast<unsigned long long>(seed),
                       static_cast<unsigned long long>(n_failed), first.c_str()));
}

}  // namespace spiked::kernels
