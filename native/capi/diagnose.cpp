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

spiked_status spiked_read_bandwidth(uint32_t n_threads, size_t size_bytes, uint32_t rounds, double* gb_per_s,
                                    spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(gb_per_s, "gb_per_s"));
    auto measured = read_bandwidth_gb_s(n_threads, size_bytes, rounds);
    if (!measured.ok()) return measured.status();
    *gb_per_s = measured.value();
    return {};
  });
}
