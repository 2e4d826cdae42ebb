#pragma once
#include <string_view>

#include "base/status.h"
#include "kernels/peak.h"
#include "measure/rounds.h"
#include "threads/pool.h"

namespace spiked::measure {

enum class Weights { kF32, kF16, kI8, kI4, kT2 };
enum class Activations { kF32, kI8, kI16 };

/// The peak that bounds a dense product; null where none is known.
const kernels::Peak* peak_of(const char* isa, Weights weights, Activations activations);

/// Times a peak loop on all threads of a pool, by a clock of rounds.h.
class PeakRate {
 public:
  PeakRate(Pool& pool, const kernels::Peak& peak, double (*now_s)());
  /// 1e9 multiply-adds a second of all threads together.
  double gmac_per_s();

 private:
  double seconds(size_t n_steps);

  Pool& pool_;
  const kernels::Peak& peak_;
  double (*now_s_)();
  uint64_t macs_ = 0;  // of the last run, all threads
  size_t n_steps_;
};

struct ArithmeticPeak {
  const char* instructions = nullptr;  ///< null where no peak is known; then nothing was measured
  Spread gmac_per_s;
};

/// What n_threads reach of the multiply-adds that these products are made of, by the wall clock.
///
/// isa  "" is the best of this CPU
///
/// Errors: ERR_ISA_UNSUPPORTED; ERR_INVALID_ARGUMENT when n_threads is not in [1, 256] or rounds not in [1, 1000].
Result<ArithmeticPeak> arithmetic_peak(std::string_view isa, Weights weights, Activations activations,
                                       unsigned n_threads, unsigned rounds);

/// Errors: ERR_INVALID_ARGUMENT when rounds is not in [1, 1000].
Status check_rounds(const char* what, unsigned rounds);

}  // namespace spiked::measure
