#include "measure/peak_rate.h"

#include <atomic>

#include "kernels/dispatch.h"

namespace spiked::measure {
namespace {

constexpr unsigned kMaxRounds = 1000;
constexpr size_t kLeastSteps = 1024;

}  // namespace

const kernels::Peak* peak_of(const char* isa, Weights weights, Activations activations) {
  const kernels::Peaks* peaks = kernels::peaks(isa);
  if (peaks == nullptr) return nullptr;
  if (activations == Activations::kF32) return &peaks->f32;
  if (activations == Activations::kI16) return &peaks->i16;
  if (weights == Weights::kT2) return &peaks->t2_i8;
  return weights == Weights::kI4 ? &peaks->i4_i8 : &peaks->i8;
}

PeakRate::PeakRate(Pool& pool, const kernels::Peak& peak, double (*now_s)())
    : pool_(pool), peak_(peak), now_s_(now_s) {
  n_steps_ = kLeastSteps * enough_calls([&](size_t n) { return seconds(n * kLeastSteps); });
}

double PeakRate::seconds(size_t n_steps) {
  std::atomic<uint64_t> macs{0};
  const double taken_s = longest_s(pool_, now_s_, [&](Team&) { macs += peak_.run(n_steps); });
  macs_ = macs;
  return taken_s;
}

double PeakRate::gmac_per_s() {
  const double taken_s = seconds(n_steps_);
  return static_cast<double>(macs_) / taken_s / 1e9;
}

Status check_rounds(const char* what, unsigned rounds) {
  if (rounds >= 1 && rounds <= kMaxRounds) return {};
  return {Code::ERR_INVALID_ARGUMENT,
          format("%s: rounds: expected 1 to %u, found %u", what, kMaxRounds, rounds)};
}

Result<ArithmeticPeak> arithmetic_peak(std::string_view isa, Weights weights, Activations activations,
                                       unsigned n_threads, unsigned rounds) {
  const auto selected = kernels::select(isa);
  if (!selected.ok()) return selected.status();
  if (Status status = check_rounds("arithmetic peak", rounds); !status.ok()) return status;
  auto opened = Pool::open(n_threads);
  if (!opened.ok()) return opened.status();
  const std::unique_ptr<Pool> pool = opened.take();
  const kernels::Peak* peak = peak_of(selected.value()->name, weights, activations);
  if (peak == nullptr) return ArithmeticPeak{};
  PeakRate rate(*pool, *peak, wall_s);
  std::vector<double> found;
  for (unsigned i = 0; i < rounds; ++i) found.push_back(rate.gmac_per_s());
  return ArithmeticPeak{peak->instructions, spread_of(std::move(found))};
}

}  // namespace spiked::measure
