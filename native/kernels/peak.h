#pragma once
#include <cstddef>
#include <cstdint>

/// The multiply-adds of each product's inner loop on registers alone: no loads, no conversions, nothing waits. What an instruction set
/// reaches here is its arithmetic peak, and what a kernel is measured against. A small table of its own beside the kernels: a loop
/// that computes nothing has no scalar form to agree with.
namespace spiked::kernels {

/// Runs n_steps of a loop and returns the multiply-adds done.
using PeakLoop = uint64_t (*)(size_t n_steps);

struct Peak {
  const char* instructions;  ///< one link of the loop's chain
  PeakLoop run;
};

/// By activations, for f32 and int8 weights; for 4-bit and ternary weights where their chain is another.
struct Peaks {
  Peak f32, i8, i16, i4_i8, t2_i8;
};

/// Null where none is known: scalar code is what the compiler makes of it.
///
/// isa  a name of isas()
const Peaks* peaks(const char* isa);

}  // namespace spiked::kernels
