#pragma once
#include <span>

#include "models/symboliclight/network.h"
#include "models/symboliclight/state.h"

namespace spiked::symboliclight {

/// Feeds every part (spiked::Network::forward); scratch.hidden() then holds the residual stream of each position.
///
/// Source: specification of SymbolicLight V1 (arXiv:2605.21333); docs/numerics.md for the order of every sum.
bool forward(const Pass& pass, const Network& network, std::span<Part> parts, Scratch& scratch, Trace* trace);

}  // namespace spiked::symboliclight
