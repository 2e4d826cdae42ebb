#include "kernels/dispatch.h"

#include <iterator>
#include <string_view>

#include "unit.h"

namespace {

using namespace spiked;
using namespace spiked::kernels;

const unit::Unit names_unit(
    "dispatch: every name of the project is known, scalar is always there", [](unit::Test& t) {
      const std::string_view expected[] = {"avx2_vnni", "avx2", "neon_dotprod", "neon", "scalar"};
      t.expect(isas().size() == std::size(expected), "five ISAs");
      for (size_t i = 0; i < isas().size() && i < std::size(expected); ++i)
        t.expect(isas()[i].name == expected[i], "order of preference");
      t.expect(isas().back().supported, "scalar is supported");
      for (const Isa& isa : isas())
        t.expect(!isa.supported || isa.kernels != nullptr, "a supported ISA has a table");
    });

const unit::Unit best_unit("dispatch: no name selects the best supported", [](unit::Test& t) {
  const auto best = select("");
  t.expect(best.ok(), "expected an ISA");
  for (const Isa& isa : isas()) {
    if (!isa.supported) continue;
    t.expect(best.value() == &isa, "expected the first supported one");
    break;
  }
});

const unit::Unit forced_unit(
    "dispatch: a name selects itself or is an error, never another", [](unit::Test& t) {
      for (const Isa& isa : isas()) {
        const auto selected = select(isa.name);
        if (isa.supported) {
          t.expect(selected.ok() && selected.value() == &isa, "expected itself");
        } else {
          t.expect(!selected.ok() && selected.status().code() == Code::ERR_ISA_UNSUPPORTED,
                   "expected ERR_ISA_UNSUPPORTED");
          const std::string& message = selected.status().message();
          t.expect(message.find(isa.name) != std::string::npos && message.find("scalar") != std::string::npos,
                   "the message names the ISA and the supported ones: " + message);
        }
      }
      for (std::string_view name : {"avx512", "AVX2", "scalar ", "neon_"}) {
        const auto selected = select(name);
        t.expect(!selected.ok() && selected.status().code() == Code::ERR_ISA_UNSUPPORTED,
                 "an unknown name is an error");
      }
    });

const unit::Unit tables_unit("dispatch: no table has a hole", [](unit::Test& t) {
  for (const Isa& isa : isas()) {
    if (isa.kernels == nullptr) continue;
    const std::string folder = isa.name;
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) \
  t.expect(isa.kernels->name != nullptr, folder + " lacks " #name);
#include "kernels/list.def"
#undef SPIKED_KERNEL
  }
});

}  // namespace
