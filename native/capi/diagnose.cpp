#include "session/diagnose.h"

#include "capi/guard.h"

using namespace spiked;
using namespace spiked::capi;

spiked_status spiked_self_test(const char* isa, uint64_t seed, spiked_report report, void* user,
                               spiked_error* error) {
  return guard(error, [&]() -> Status {
    auto selected = kernels::select(isa != nullptr ? isa : "");
    if (!selected.ok()) return selected.status();
    return kernels::self_test(*selected.value(), seed, report, user);
  });
}
