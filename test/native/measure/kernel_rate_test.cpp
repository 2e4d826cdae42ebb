#include "measure/kernel_rate.h"

#include <cmath>
#include <string>

#include "kernels/dispatch.h"
#include "measure/peak_rate.h"
#include "unit.h"

namespace {

using namespace spiked;
using namespace spiked::measure;

constexpr size_t kMiB = size_t{1} << 20;

bool is_rate(const Spread& s) {
  return s.min > 0 && s.min <= s.median && s.median <= s.max && std::isfinite(s.max);
}
bool is_zero(const Spread& s) { return s.median == 0 && s.min == 0 && s.max == 0; }

const unit::Unit spread_unit("measure: median and range", [](unit::Test& t) {
  const auto is = [&](const Spread& s, double median, double min, double max) {
    t.expect(s.median == median && s.min == min && s.max == max, format("found %g", s.median));
  };
  is(spread_of({3, 1, 2}), 2, 1, 3);
  is(spread_of({4, 1, 10, 2}), 3, 1, 10);
  t.expect(is_zero(spread_of({})), "none");
  t.expect(enough_calls([](size_t n) { return static_cast<double>(n) * 0.001; }) == 8, "5 ms of 1 ms calls");
});

const unit::Unit kernels_unit("measure: every kernel on every ISA has rates", [](unit::Test& t) {
  size_t n_products = 0;
  for (const kernels::Isa& isa : kernels::isas()) {
    if (!isa.supported) continue;
    const bool has_peaks = kernels::peaks(isa.name) != nullptr;
    for (size_t i = 0; const char* name = measured_kernel(i); ++i) {
      const std::string what = std::string(isa.name) + " " + name;
      // Scalar products are slow, and slower under a sanitizer or emulated.
      if (!has_peaks && std::string(name) != "matmul_i8_i8" && std::string(name) != "column_sum_i8") continue;
      const auto measured = kernel_rate(isa.name, name, 2, kMiB, 1);
      t.expect(measured.ok(), what);
      if (!measured.ok()) return;
      const KernelRate& r = measured.value();
      t.expect(r.bytes > kMiB / 8 && r.bytes <= kMiB, what + ": bytes");
      t.expect(is_rate(r.gb_per_s) && is_rate(r.read_gb_per_s) && is_rate(r.read_share), what + ": reads");
      const bool product = std::string(name).starts_with("matmul");
      n_products += product;
      t.expect((r.tokens > 0 && r.macs > 0 && is_rate(r.gmac_per_s)) == product, what + ": batch");
      t.expect((r.peak_instructions != nullptr) == (product && has_peaks), what + ": peak");
      t.expect(is_rate(r.peak_share) == (product && has_peaks), what + ": share of the peak");
    }
  }
  t.expect(n_products > 0, "no product was measured");
});

const unit::Unit peak_unit("measure: an arithmetic peak where the ISA has one", [](unit::Test& t) {
  for (const kernels::Isa& isa : kernels::isas()) {
    if (!isa.supported) continue;
    for (Activations a : {Activations::kF32, Activations::kI8, Activations::kI16}) {
      const auto found = arithmetic_peak(isa.name, Weights::kI8, a, 1, 1);
      t.expect(found.ok(), isa.name);
      if (!found.ok()) return;
      const bool known = kernels::peaks(isa.name) != nullptr;
      t.expect((found.value().instructions != nullptr) == known, isa.name);
      t.expect(known ? is_rate(found.value().gmac_per_s) : is_zero(found.value().gmac_per_s), isa.name);
    }
  }
  const auto scalar = arithmetic_peak("scalar", Weights::kF32, Activations::kF32, 1, 1);
  t.expect(scalar.ok() && scalar.value().instructions == nullptr, "scalar has no peak");
});

/// A loop that the compiler left out, or summed up, would take none.
const unit::Unit loops_unit("measure: twice the steps of a peak take about twice the time", [](unit::Test&
                                                                                                   t) {
  for (const kernels::Isa& isa : kernels::isas()) {
    const kernels::Peaks* peaks = isa.supported ? kernels::peaks(isa.name) : nullptr;
    if (peaks == nullptr) continue;
    for (const kernels::Peak* peak : {&peaks->f32, &peaks->i8, &peaks->i16, &peaks->i4_i8, &peaks->t2_i8}) {
      t.expect(peak->run(1000) * 2 == peak->run(2000) && peak->run(1) > 0, "multiply-adds");
      const auto seconds = [&](size_t n) {
        double least = 1e30;  // of three: what else runs only adds
        for (int i = 0; i < 3; ++i) {
          const double begin = ran_s();
          peak->run(n);
          least = std::min(least, ran_s() - begin);
        }
        return least;
      };
      const size_t n = enough_calls(seconds);
      const double ratio = seconds(4 * n) / seconds(n);
      t.expect(ratio > 2 && ratio < 8, format("%s %s: %g", isa.name, peak->instructions, ratio));
    }
  }
});

const unit::Unit refusals_unit("measure: refuses what it cannot measure", [](unit::Test& t) {
  const auto code = [](const auto& result) { return result.ok() ? Code::kOk : result.status().code(); };
  const Code bad = Code::ERR_INVALID_ARGUMENT;
  t.expect(code(kernel_rate("", "matmul_i8", 1, kMiB, 1)) == bad, "no such kernel");
  t.expect(code(kernel_rate("", "matmul_i8_i8", 0, kMiB, 1)) == bad, "no threads");
  t.expect(code(kernel_rate("", "matmul_i8_i8", 1, kMiB - 1, 1)) == bad, "too small");
  t.expect(code(kernel_rate("", "matmul_i8_i8", 1, kMiB, 0)) == bad, "no rounds");
  t.expect(code(kernel_rate("abacus", "matmul_i8_i8", 1, kMiB, 1)) == Code::ERR_ISA_UNSUPPORTED, "ISA");
  t.expect(code(arithmetic_peak("", Weights::kF32, Activations::kF32, 257, 1)) == bad, "threads");
  t.expect(code(arithmetic_peak("", Weights::kF32, Activations::kF32, 1, 1001)) == bad, "rounds");
  t.expect(
      code(arithmetic_peak("abacus", Weights::kF32, Activations::kF32, 1, 1)) == Code::ERR_ISA_UNSUPPORTED,
      "ISA of a peak");
});

}  // namespace
