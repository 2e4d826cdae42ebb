#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "kernels/dispatch.h"
#include "threads/partition.h"
#include "threads/pool.h"
#include "threads/read_bandwidth.h"

/// How every native measurement is taken: in turn with plain reads of the same memory by the same threads.
namespace bench {

using namespace spiked;

struct Options {
  unsigned n_threads, rounds;
  size_t size_bytes;
  const kernels::Isa* isa;
};

struct Random {
  uint64_t state = 1;
  uint64_t next() { return state = state * 6364136223846793005u + 1442695040888963407u; }
  float number() { return static_cast<float>(static_cast<int32_t>(next() >> 32)) * 0x1p-31f; }
};

/// Seconds that the calling thread has run: what other processes took from it is left out, so that a busy machine spoils less.
inline double ran_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Runs work(team) on the pool; the seconds of the worker that ran longest.
template <typename Work>
double longest_s(Pool& pool, Work work) {
  std::vector<double> seconds(pool.size());
  pool.run([&](Team& team) {
    const double begin_s = ran_s();
    work(team);
    seconds[team.index()] = ran_s() - begin_s;
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

/// "name":{"median":..,"min":..,"max":..}
inline std::string summary(const char* name, std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return format("\"%s\":{\"median\":%.3f,\"min\":%.3f,\"max\":%.3f}", name, v[v.size() / 2], v.front(),
                v.back());
}

/// Times `work` and plain reads of `memory` in turn; `bytes` are what one run of work has to read.
template <typename T, typename Work>
std::string against_reads(const Options& o, Pool& pool, const char* name, size_t bytes,
                          const AlignedArray<T>& memory, Work work) {
  std::atomic<uint64_t> sink{0};
  const size_t memory_bytes = memory.size() * sizeof(T);
  const auto read_gb_s = [&] {
    const double seconds = longest_s(pool, [&](Team& team) {
      const Range r = share(memory_bytes, 4096, team.index(), team.size());
      sink ^= read_words(reinterpret_cast<const char*>(memory.data()) + r.begin, r.end - r.begin);
    });
    return static_cast<double>(memory_bytes) / seconds / 1e9;
  };
  std::vector<double> ours, reads, shares;
  longest_s(pool, work);
  for (unsigned i = 0; i < o.rounds; ++i) {
    const double before = read_gb_s();
    ours.push_back(static_cast<double>(bytes) / longest_s(pool, work) / 1e9);
    reads.push_back((before + read_gb_s()) / 2);
    shares.push_back(ours.back() / reads.back());
  }
  return format("{\"kernel\":\"%s\",\"bytes\":%zu,%s,%s,%s}", name, bytes, summary("gb_per_s", ours).c_str(),
                summary("read_gb_per_s", reads).c_str(), summary("share", shares).c_str());
}

/// Arithmetic rate of a batch over weights that stay in the cache.
template <typename Work>
std::string arithmetic(const Options& o, Pool& pool, const char* name, size_t batch, size_t macs, Work work) {
  std::vector<double> rate;
  longest_s(pool, work);
  for (unsigned i = 0; i < o.rounds; ++i) {
    rate.push_back(2 * static_cast<double>(macs) / longest_s(pool, work) / 1e9);
  }
  return format("{\"kernel\":\"%s\",\"batch\":%zu,%s}", name, batch, summary("gflop_per_s", rate).c_str());
}

}  // namespace bench
