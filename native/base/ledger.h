#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.h"

namespace spiked {

/// What memory is for.
enum class Memory {
  kBase,         ///< the process before any model
  kWeights,      ///< mapped files, all their bytes
  kCopies,       ///< of files in memory of their own, tables made of weights
  kSessions,     ///< what sequences carry, at their longest
  kScratch,      ///< what computing needs beside
  kPrefixCache,  ///< as much as the caches may hold
};
inline constexpr size_t kMemories = 6;

class Ledger;

/// Bytes that a ledger has promised; given back at the end.
class Reservation {
 public:
  Reservation() = default;
  ~Reservation() { give_back(); }
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept;

 private:
  friend class Ledger;
  void give_back();

  std::shared_ptr<Ledger> ledger_;
  Memory use_ = Memory::kBase;
  uint64_t size_bytes_ = 0;
};

/// The memory that one engine and everything of it may take: whoever needs some asks before it allocates. Any thread.
class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  /// budget_bytes  0: no end
  explicit Ledger(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// what  begins the message of ERR_RAM_BUDGET, which names need, use and budget
  Result<Reservation> reserve(Memory use, uint64_t size_bytes, const std::string& what);

  uint64_t budget_bytes() const { return budget_bytes_; }
  std::array<uint64_t, kMemories> used_bytes() const;

 private:
  friend class Reservation;

  const uint64_t budget_bytes_;
  mutable std::mutex mutex_;
  std::array<uint64_t, kMemories> used_bytes_{};
};

}  // namespace spiked
