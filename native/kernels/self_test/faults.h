#pragma once
#include "kernels/kernels.h"
#include "kernels/self_test/tally.h"

/// Faults planted on purpose: what shows that a sweep would see a real one.
namespace spiked::kernels::testing {

const Kernels& scalar_kernels();

/// Each kernel as scalar has it, but with the lowest bit of its last value flipped (the last spike lost).
Kernels wrong_kernels();

/// Each kernel as scalar has it, but writing one value past the end of its range.
Kernels overrunning_kernels();

/// The dense products of both.
void plant_wrong_products(Kernels& k);
void plant_overrunning_products(Kernels& k);

/// The kernels of ternary models (products over rows, quantisers, norms, f16 attention) of both.
void plant_wrong_rows(Kernels& k);
void plant_overrunning_rows(Kernels& k);

/// The comparison and the guards themselves: one case each.
void check_helpers(Tally& tally);

}  // namespace spiked::kernels::testing
