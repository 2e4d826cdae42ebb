#pragma once
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "threads/pool.h"

/// How every native measurement is taken: repeated, in turn with what it is compared to, by the same threads.
namespace spiked::measure {

/// Least, middle and most of the rounds.
struct Spread {
  double median = 0, min = 0, max = 0;
};

inline Spread spread_of(std::vector<double> v) {
  if (v.empty()) return {};
  std::sort(v.begin(), v.end());
  const size_t middle = v.size() / 2;
  return {v.size() % 2 == 1 ? v[middle] : (v[middle - 1] + v[middle]) / 2, v.front(), v.back()};
}

/// Seconds that the calling thread has run: what other processes took from it is left out, so that a busy machine spoils less.
inline double ran_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline double wall_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Runs work(team) on the pool; the seconds, by the clock now_s, of the worker that took longest.
template <typename Work>
double longest_s(Pool& pool, double (*now_s)(), Work&& work) {
  std::vector<double> seconds(pool.size());
  pool.run([&](Team& team) {
    const double begin_s = now_s();
    work(team);
    seconds[team.index()] = now_s() - begin_s;
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

/// How many calls of work(n_calls) one measurement needs, so that the clock's grain and the start of a region do not show.
template <typename TimeOf>
size_t enough_calls(TimeOf seconds_of) {
  constexpr double kLeast_s = 0.005;
  size_t n_calls = 1;
  while (seconds_of(n_calls) < kLeast_s) n_calls *= 2;
  return n_calls;
}

}  // namespace spiked::measure
