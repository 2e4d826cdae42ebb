// Every ISA that this CPU has, held to scalar; SPIKED_FORCE_ISA narrows it to one.
#include "kernels/self_test.h"

#include <cstdlib>
#include <random>
#include <string_view>

#include "unit.h"

namespace {

using namespace spiked;
using namespace spiked::kernels;

/// SPIKED_TEST_SEED repeats a run.
uint64_t seed() {
  const char* given = std::getenv("SPIKED_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

struct Totals {
  uint64_t cases = 0, lines = 0;
  static void note(void* user, const char*, uint64_t cases, uint64_t, const char*) {
    static_cast<Totals*>(user)->cases += cases;
    ++static_cast<Totals*>(user)->lines;
  }
};

constexpr uint64_t kKernels = 0
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) +1
#include "kernels/list.def"
#undef SPIKED_KERNEL
    ;

void run(unit::Test& t, const Isa& isa) {
  Totals totals;
  const uint64_t s = seed();
  const Status status = self_test(isa, s, Totals::note, &totals);
  if (!isa.supported) {
    t.expect(status.code() == Code::ERR_ISA_UNSUPPORTED, "an absent ISA must be refused");
    t.note("this CPU or this build lacks it, and it is refused");
    return;
  }
  t.note(format("%llu cases, seed %llu", static_cast<unsigned long long>(totals.cases),
                static_cast<unsigned long long>(s)));
  t.expect(status.ok(), status.message());
  t.expect(totals.lines == kKernels + 1, "one report a kernel and one for the planted faults");
}

struct PerIsa {
  PerIsa() {
    const char* forced = std::getenv("SPIKED_FORCE_ISA");
    for (const Isa& isa : isas()) {
      if (forced != nullptr && *forced != '\0' && std::string_view(forced) != isa.name) continue;
      unit::Unit(std::string("kernels: self-test of ") + isa.name, [&isa](unit::Test& t) { run(t, isa); });
    }
  }
} const per_isa;

const unit::Unit broken_unit("kernels: a broken ISA fails the self-test and is named", [](unit::Test& t) {
  Kernels kernels = *select("scalar").value()->kernels;
  kernels.mix_f32 = [](float g, const float* a, const float* b, size_t n, float* y) {
    for (size_t i = 0; i < n; ++i) y[i] = g * (a[i] - b[i]) + b[i];
  };
  const Isa broken{"broken", true, &kernels};
  const Status status = self_test(broken, 1, nullptr, nullptr);
  t.expect(status.code() == Code::ERR_CHECK_FAILED, "expected ERR_CHECK_FAILED");
  t.expect(status.message().find("mix_f32") != std::string::npos,
           "the message must name mix_f32: " + status.message());
});

const unit::Unit order_unit(
    "kernels: a table that names another i16 order than it keeps fails the self-test", [](unit::Test& t) {
      Kernels kernels = *select("scalar").value()->kernels;
      kernels.i16_order = layout::I16Order::kBytePlanes;
      const Status status = self_test({"broken", true, &kernels}, 1, nullptr, nullptr);
      for (const char* name : {"quantize_i16", "3 kernels"})
        t.expect(status.message().find(name) != std::string::npos,
                 std::string("the message must name ") + name + ": " + status.message());
    });

}  // namespace
