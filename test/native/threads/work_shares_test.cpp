#include "threads/work_shares.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "threads/pool.h"
#include "unit.h"

namespace {

using namespace spiked;

// One thread plays all workers: what each takes is then known.
const unit::Unit order_unit(
    "work shares: long runs first, short at the end; an idle worker takes the back half of the largest",
    [](unit::Test& t) {
      WorkShares shares(3);
      const uint16_t split = shares.next_split(0);
      const auto takes = [&](unsigned worker, size_t begin, size_t end) {
        Range r{0, 0};
        const bool any = shares.take(worker, split, 96, 2, 10, r);
        t.expect(any == (begin < end), format("worker %u: some left", worker));
        if (any)
          t.expect(
              r.begin == begin && r.end == end,
              format("worker %u: expected %zu to %zu, found %zu to %zu", worker, begin, end, r.begin, r.end));
      };
      takes(0, 0, 10);   // half of 32, at most 10
      takes(0, 10, 20);  // of 22
      takes(0, 20, 26);  // of 12
      takes(1, 32, 42);  // has 42 to 64 left
      takes(0, 26, 29);
      takes(0, 29, 31);  // at least 2
      takes(0, 31, 32);
      takes(0, 80, 88);  // worker 2 has not begun: the back half of 64 to 96
      takes(2, 64, 72);
    });

const unit::Unit once_unit("work shares: every unit is taken once, whatever the order of the workers",
                           [](unit::Test& t) {
                             uint64_t random = 1;
                             for (unsigned size : {1u, 2u, 3u, 8u}) {
                               WorkShares shares(size);
                               // More splits than their numbers, so that these come round.
                               for (size_t round = 0; round < 70000; ++round) {
                                 const size_t n = round % 23, least = 1 + round % 3, most = least + round % 5;
                                 uint16_t split = 0;
                                 for (unsigned i = 0; i < size; ++i) split = shares.next_split(i);
                                 unsigned taken[23] = {}, done = 0;
                                 std::vector<bool> through(size, false);
                                 while (done < size) {
                                   random = random * 6364136223846793005u + 1442695040888963407u;
                                   const auto worker = static_cast<unsigned>((random >> 33) % size);
                                   if (through[worker]) continue;
                                   Range r{0, 0};
                                   if (shares.take(worker, split, n, least, most, r)) {
                                     for (size_t i = r.begin; i < r.end; ++i) ++taken[i];
                                   } else {
                                     through[worker] = true;
                                     ++done;
                                   }
                                 }
                                 for (size_t i = 0; i < n; ++i)
                                   if (taken[i] != 1)
                                     return t.expect(
                                         false, format("%u workers, round %zu: unit %zu was taken %u times",
                                                       size, round, i, taken[i]));
                               }
                             }
                           });

const unit::Unit threads_unit(
    "split: every unit is done once, in 1 to 8 threads, several splits between barriers", [](unit::Test& t) {
      for (unsigned n_threads = 1; n_threads <= 8; ++n_threads) {
        auto pool = Pool::open(n_threads).take();
        constexpr size_t kUnits = 301;
        std::vector<unsigned> done(kMaxSplits * kUnits, 0);  // plain: a race shows under a sanitizer
        unsigned wrong = 0;
        for (unsigned round = 1; round <= 20; ++round) {
          pool->run([&](Team& team) {
            for (unsigned phase = 1; phase <= 5; ++phase) {
              for (size_t s = 0; s < kMaxSplits; ++s)
                team.split(kUnits - s, 1, 16, [&](const Range& r) {
                  for (size_t i = r.begin; i < r.end; ++i) ++done[s * kUnits + i];
                });
              team.barrier();
              if (team.index() == 0)
                for (size_t s = 0; s < kMaxSplits; ++s)
                  for (size_t i = 0; i < kUnits - s; ++i)
                    wrong += done[s * kUnits + i] != (round - 1) * 5 + phase;
              team.barrier();
            }
          });
        }
        t.expect(wrong == 0, format("%u threads: %u counts differ", n_threads, wrong));
      }
    });

const unit::Unit slow_unit("split: a slow worker does less", [](unit::Test& t) {
  auto pool = Pool::open(2).take();
  constexpr size_t kUnits = 64;
  size_t done[2] = {};
  pool->run([&](Team& team) {
    team.split(kUnits, 1, 4, [&](const Range& r) {
      const size_t n = r.end - r.begin;
      done[team.index()] += n;
      // Sleeping, not computing: how fast the machine is does not matter.
      std::this_thread::sleep_for(std::chrono::microseconds(n * (team.index() == 0 ? 200 : 2000)));
    });
  });
  t.note(format("%zu and %zu of %zu units", done[0], done[1], kUnits));
  t.expect(done[0] + done[1] == kUnits, "all is done");
  t.expect(done[0] > done[1], "the faster worker did more");
});

}  // namespace
