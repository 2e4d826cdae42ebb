#include "base/ledger.h"

#include <numeric>

namespace spiked {

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  ledger_ = std::move(other.ledger_);
  use_ = other.use_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

void Reservation::give_back() {
  if (!ledger_) return;
  {
    const std::lock_guard lock(ledger_->mutex_);
    ledger_->used_bytes_[static_cast<size_t>(use_)] -= size_bytes_;
  }
  ledger_.reset();
}

Result<Reservation> Ledger::reserve(Memory use, uint64_t size_bytes, const std::string& what) {
  const std::lock_guard lock(mutex_);
  const uint64_t used = std::accumulate(used_bytes_.begin(), used_bytes_.end(), uint64_t{0});
  if (budget_bytes_ != 0 && (used > budget_bytes_ || size_bytes > budget_bytes_ - used)) {
    const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
    return Status{
        Code::ERR_RAM_BUDGET,
        format("%s: needs %llu bytes: expected a memory budget with room for them, found %llu of %llu "
               "bytes in use",
               what.c_str(), number(size_bytes), number(used), number(budget_bytes_))};
  }
  used_bytes_[static_cast<size_t>(use)] += size_bytes;
  Reservation out;
  out.ledger_ = shared_from_this();
  out.use_ = use;
  out.size_bytes_ = size_bytes;
  return out;
}

std::array<uint64_t, kMemories> Ledger::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

}  // namespace spiked
