#include "session/prefix_cache.h"

#include <algorithm>
#include <new>

namespace spiked {

PrefixCache::PrefixCache(size_t budget_bytes)
    : budget_bytes_(budget_bytes), root_(std::make_shared<Chunk>()) {
  root_->kept = true;
}

void PrefixCache::touch(Chunk* chunk) {
  for (; chunk->parent != nullptr; chunk = chunk->parent) order_.splice(order_.begin(), order_, chunk->place);
}

PrefixCache::Place PrefixCache::find(const Place& at, const int32_t* ids) {
  for (const Place& child : at->children) {
    if (!std::equal(child->ids.begin(), child->ids.end(), ids)) continue;
    touch(child.get());
    return child;
  }
  return nullptr;
}

PrefixCache::Place PrefixCache::keep(const Place& at, const int32_t* ids, const Sequence& sequence,
                                     const float* hidden, size_t dim, const Activity& activity) {
  if (!at->kept) return nullptr;
  const size_t wanted = sequence.gain_bytes(kIds) + dim * sizeof(float) + kIds * sizeof(int32_t);
  if (wanted > budget_bytes_) return nullptr;
  touch(at.get());
  while (size_bytes() + wanted > budget_bytes_) {
    // Only what leads here is left.
    if (order_.back() == at.get()) return nullptr;
    drop_oldest();
  }
  try {
    auto chunk = std::make_shared<Chunk>();
    chunk->ids.assign(ids, ids + kIds);
    chunk->gain = sequence.gain(kIds);
    chunk->hidden.assign(hidden, hidden + dim);
    chunk->activity = activity;
    at->children.reserve(at->children.size() + 1);  // from here on nothing fails halfway
    order_.push_front(chunk.get());
    at->children.push_back(chunk);
    chunk->place = order_.begin();
    chunk->parent = at.get();
    chunk->kept = true;
    chunk->size_bytes = wanted;
    size_bytes_ += wanted;
    touch(chunk.get());
    return chunk;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void PrefixCache::drop_oldest() {
  Chunk* chunk = order_.back();
  order_.pop_back();
  size_bytes_ -= chunk->size_bytes;
  chunk->kept = false;
  auto& siblings = chunk->parent->children;
  chunk->parent = nullptr;
  siblings.erase(std::find_if(siblings.begin(), siblings.end(),
                              [chunk](const Place& child) { return child.get() == chunk; }));
}

}  // namespace spiked
