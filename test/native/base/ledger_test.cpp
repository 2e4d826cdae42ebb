#include "base/ledger.h"

#include <atomic>
#include <thread>
#include <vector>

#include "unit.h"

namespace {

using namespace spiked;

uint64_t total(const Ledger& ledger) {
  uint64_t n = 0;
  for (uint64_t used : ledger.used_bytes()) n += used;
  return n;
}

const unit::Unit budget_unit(
    "ledger: what would cross the budget is refused, with the figures", [](unit::Test& t) {
      const auto ledger = std::make_shared<Ledger>(100);
      auto base = ledger->reserve(Memory::kBase, 30, "base");
      t.expect(base.ok() && ledger->reserve(Memory::kWeights, 70, "all of the rest").ok(),
               "up to the last byte");
      t.expect(total(*ledger) == 30, "what nobody kept is given back");
      for (uint64_t n : {uint64_t{71}, UINT64_MAX}) {
        const auto refused = ledger->reserve(Memory::kSessions, n, "a session");
        t.expect(!refused.ok() && refused.status().code() == Code::ERR_RAM_BUDGET,
                 format("%llu bytes", (unsigned long long)n));
        if (n == 71 && !refused.ok())
          t.expect(refused.status().message() ==
                       "a session: needs 71 bytes: expected a memory budget with room for them, found 30 of "
                       "100 bytes in use",
                   refused.status().message());
      }
      t.expect(!std::make_shared<Ledger>(64)->reserve(Memory::kBase, 65, "base").ok(), "an absurd budget");
      t.expect(std::make_shared<Ledger>(0)->reserve(Memory::kBase, UINT64_MAX, "base").ok(), "none");
    });

const unit::Unit life_unit("ledger: promises are given back once, wherever they went", [](unit::Test& t) {
  const auto ledger = std::make_shared<Ledger>(0);
  {
    Reservation a = ledger->reserve(Memory::kSessions, 10, "a").take();
    Reservation b = std::move(a), c = ledger->reserve(Memory::kScratch, 5, "c").take();
    t.expect(total(*ledger) == 15, "both");
    c = std::move(b);
    t.expect(total(*ledger) == 10 && ledger->used_bytes()[static_cast<size_t>(Memory::kScratch)] == 0,
             "what was there goes");
  }
  t.expect(total(*ledger) == 0, "nothing is left");
  Reservation last;
  {
    const auto gone = std::make_shared<Ledger>(0);
    last = gone->reserve(Memory::kBase, 1, "last").take();
  }
});

const unit::Unit race_unit("ledger: threads never get more than there is", [](unit::Test& t) {
  const auto ledger = std::make_shared<Ledger>(8);
  std::vector<std::thread> threads;
  std::atomic<bool> crossed{false};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        auto held = ledger->reserve(Memory::kSessions, 3, "a session");
        if (total(*ledger) > 8) crossed = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  t.expect(!crossed && total(*ledger) == 0, "crossed, or not given back");
});

}  // namespace
