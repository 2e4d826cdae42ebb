#pragma once
#include <span>

#include "models/bitnet/network.h"
#include "models/bitnet/state.h"

namespace spiked::bitnet {

/// Feeds every part (Network::forward); scratch.hidden() then holds RMS(h, output_norm) of each position.
///
/// Source: BitNet b1.58 2B4T (arXiv 2504.12285) and its published modeling code; docs/numerics.md for the order of every sum.
bool forward(const Pass& pass, const Network& network, std::span<Part> parts, Scratch& scratch, Trace* trace);

}  // namespace spiked::bitnet
