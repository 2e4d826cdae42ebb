#include "threads/pool.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "threads/partition.h"
#include "unit.h"

namespace {

using namespace spiked;

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

const unit::Unit barrier_unit("pool: what was written before a barrier is seen after it, 1 to 8 threads",
                              [](unit::Test& t) {
                                for (unsigned n = 1; n <= 8; ++n) {
                                  auto pool = Pool::open(n).take();
                                  t.expect(pool->size() == n, "size");
                                  std::vector<unsigned> slots(
                                      n, 0);  // plain memory: a race shows under a thread sanitizer
                                  std::atomic<unsigned> wrong{0};
                                  pool->run([&](Team& team) {
                                    for (unsigned round = 1; round <= 50; ++round) {
                                      slots[team.index()] = round;
                                      team.barrier();
                                      for (unsigned v : slots) wrong += v != round;
                                      team.barrier();
                                    }
                                  });
                                  t.expect(wrong == 0, format("%u threads: %u stale reads", n, wrong.load()));
                                }
                              });

const unit::Unit regions_unit("pool: regions run every worker once, 1 to 8 threads", [](unit::Test& t) {
  for (unsigned n = 1; n <= 8; ++n) {
    auto pool = Pool::open(n).take();
    std::vector<unsigned> counts(n, 0);
    for (unsigned region = 1; region <= 200; ++region) {
      pool->run([&](Team& team) {
        ++counts[team.index()];
        if (team.size() != n) counts[team.index()] += 1000;
      });
      for (unsigned c : counts)
        t.expect(c == region, format("%u threads, region %u: worker ran %u times", n, region, c));
    }
  }
});

const unit::Unit lonely_unit("pool: opening and closing without work, and after sleeping", [](unit::Test& t) {
  for (unsigned n = 1; n <= 8; ++n) {
    for (int i = 0; i < 10; ++i) t.expect(Pool::open(n).ok(), "opens");
  }
  auto pool = Pool::open(4).take();
  std::atomic<unsigned> ran{0};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pool->run([&](Team&) { ++ran; });
  }
  t.expect(ran == 20, "workers wake from sleep");
});

const unit::Unit caller_unit("pool: the caller is worker 0, and may change between regions",
                             [](unit::Test& t) {
                               auto pool = Pool::open(3).take();
                               for (int i = 0; i < 3; ++i) {
                                 std::thread([&] {
                                   const auto caller = std::this_thread::get_id();
                                   pool->run([&](Team& team) {
                                     if (team.index() == 0)
                                       t.expect(std::this_thread::get_id() == caller,
                                                "worker 0 is the caller");
                                   });
                                 }).join();
                               }
                             });

const unit::Unit idle_unit("pool: an idle pool burns no CPU", [](unit::Test& t) {
  auto pool = Pool::open(4).take();
  pool->run([](Team& team) { team.barrier(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the spins end
  const double before = cpu_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = cpu_s() - before;
  t.note(format("%.1f ms of CPU in 300 ms", 1e3 * used));
  t.expect(used < 0.03, format("expected under 30 ms of CPU in 300 ms, found %.1f", 1e3 * used));
});

const unit::Unit arguments_unit("pool: refuses 0 and 257 threads", [](unit::Test& t) {
  for (unsigned n : {0u, 257u}) {
    const auto pool = Pool::open(n);
    t.expect(!pool.ok() && pool.status().code() == Code::ERR_INVALID_ARGUMENT,
             "expected ERR_INVALID_ARGUMENT");
  }
});

const unit::Unit share_unit("partition: shares cover [0, n) once, in whole grains", [](unit::Test& t) {
  for (size_t n : {0u, 1u, 63u, 64u, 65u, 1536u, 1537u}) {
    for (size_t grain : {1u, 4u, 64u}) {
      for (unsigned size = 1; size <= 9; ++size) {
        size_t next = 0;
        for (unsigned i = 0; i < size; ++i) {
          const Range r = share(n, grain, i, size);
          t.expect(r.begin == next && r.end >= r.begin, "contiguous");
          t.expect(r.begin % grain == 0 || r.begin == n, "begins at a grain");
          next = r.end;
        }
        t.expect(next == n, "covers all");
      }
    }
  }
});

}  // namespace
