#include "measure/kernel_rate.h"
#include "measure/peak_rate.h"

#include "capi/guard.h"

using namespace spiked;
using namespace spiked::capi;

namespace {

spiked_spread c_spread(const measure::Spread& s) { return {s.median, s.min, s.max}; }

Result<measure::Weights> weights_of(int32_t dtype) {
  switch (dtype) {
    case SPIKED_F32:
      return measure::Weights::kF32;
    case SPIKED_I8:
      return measure::Weights::kI8;
    case SPIKED_I4:
      return measure::Weights::kI4;
  }
  return Status{Code::ERR_INVALID_ARGUMENT,
                format("dtype: expected 0 (f32), 24 (i8) or 1004 (i4), found %d", dtype)};
}

Result<measure::Activations> activations_of(int32_t activations) {
  switch (activations) {
    case SPIKED_ACTIVATIONS_F32:
      return measure::Activations::kF32;
    case SPIKED_ACTIVATIONS_I8:
      return measure::Activations::kI8;
    case SPIKED_ACTIVATIONS_I16:
      return measure::Activations::kI16;
  }
  return Status{Code::ERR_INVALID_ARGUMENT,
                format("activations: expected 0 (f32), 1 (i8) or 2 (i16), found %d", activations)};
}

}  // namespace

const char* spiked_measured_kernel(size_t i) { return measure::measured_kernel(i); }

spiked_status spiked_measure_kernel(const char* isa, const char* kernel, uint32_t n_threads,
                                    size_t size_bytes, uint32_t rounds, spiked_kernel_rate* out,
                                    spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(kernel, "kernel"));
    SPIKED_TRY(require(out, "out"));
    auto measured = measure::kernel_rate(isa != nullptr ? isa : "", kernel, n_threads, size_bytes, rounds);
    if (!measured.ok()) return measured.status();
    const measure::KernelRate& rate = measured.value();
    *out = {rate.bytes,
            c_spread(rate.gb_per_s),
            c_spread(rate.read_gb_per_s),
            c_spread(rate.read_share),
            rate.tokens,
            rate.macs,
            c_spread(rate.gmac_per_s),
            c_spread(rate.peak_gmac_per_s),
            c_spread(rate.peak_share),
            rate.peak_instructions};
    return {};
  });
}

spiked_status spiked_arithmetic_peak(const char* isa, int32_t dtype, int32_t activations, uint32_t n_threads,
                                     uint32_t rounds, spiked_spread* gmac_per_s, const char** instructions,
                                     spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(gmac_per_s, "gmac_per_s"));
    SPIKED_TRY(require(instructions, "instructions"));
    const auto weights = weights_of(dtype);
    if (!weights.ok()) return weights.status();
    const auto precision = activations_of(activations);
    if (!precision.ok()) return precision.status();
    auto measured = measure::arithmetic_peak(isa != nullptr ? isa : "", weights.value(), precision.value(),
                                             n_threads, rounds);
    if (!measured.ok()) return measured.status();
    *gmac_per_s = c_spread(measured.value().gmac_per_s);
    *instructions = measured.value().instructions;
    return {};
  });
}
