#pragma once
#include <vector>

#include "models/symboliclight/config.h"
#include "models/symboliclight/weights.h"
#include "threads/pool.h"

namespace spiked::symboliclight::f64 {

/// Attention of one block over a whole sequence, before the gate: [n, D].
///
/// x  f64 [n, D] input of q, k and v; s  0/1 [n, D] the block's input spikes: a position without any neither attends nor is attended to
std::vector<double> attend(Pool& pool, const Config& c, const BlockWeights& b, const double* x,
                           const uint8_t* s, size_t n);

}  // namespace spiked::symboliclight::f64
