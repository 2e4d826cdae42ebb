#pragma once
#include <cstddef>
#include <memory>

namespace spiked {

/// What a sequence gained by the last ids that it was fed. Each model family has its own.
class Gain {
 public:
  virtual ~Gain() = default;
};

/// What one sequence carries from token to token. Each model family has its own; all the others of a model are of the same class.
class Sequence {
 public:
  virtual ~Sequence() = default;

  size_t position = 0;  ///< ids fed

  /// Back to the start; the memory stays.
  virtual void clear() = 0;
  /// Becomes what `from`, of the same model, is.
  virtual void copy(const Sequence& from) = 0;
  virtual size_t size_bytes() const = 0;

  /// What it gained by the last n ids, n <= kMaxBatch: their keys and values, and the rest of it as it is now.
  virtual std::unique_ptr<const Gain> gain(size_t n) const = 0;
  virtual size_t gain_bytes(size_t n) const = 0;
  /// Makes a sequence that stands where those ids were fed what the one after them was.
  virtual void add(const Gain& gain) = 0;

  /// Forgets the last n ids, all fed by one pass that said it may be taken back (Part::revocable).
  virtual void take_back(size_t n) = 0;
};

}  // namespace spiked
