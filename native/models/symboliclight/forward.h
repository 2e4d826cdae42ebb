#pragma once
#include <span>

#include "models/symboliclight/network.h"
#include "models/symboliclight/state.h"

namespace spiked::symboliclight {

/// Feeds every part (1 to kMaxBatch ids together, no state twice); scratch.stream.c [ids, D] then holds the vectors the head reads, part
/// after part.
///
/// trace  null unless there is one part
///
/// Returns false when cancelled: the states are then torn and must be reset. The bits of a part depend on neither how its sequence is cut
/// into passes, nor on the other parts, nor on the number of workers.
/// Source: specification of SymbolicLight V1 (arXiv:2605.21333); docs/numerics.md for the order of every sum.
bool forward(const Pass& pass, const Network& network, std::span<Part> parts, Scratch& scratch, Trace* trace);

}  // namespace spiked::symboliclight
