#include "threads/placement.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

namespace spiked {
namespace {

constexpr unsigned kMaxThreads = 256;

// The big cores, and as many of the next fastest as there are more threads.
std::vector<unsigned> fastest(unsigned n_threads, const std::vector<Cpu>& allowed) {
  std::vector<unsigned> out = big_cores(allowed);
  if (n_threads <= out.size()) return out;
  std::vector<Cpu> by_speed = allowed;
  std::stable_sort(by_speed.begin(), by_speed.end(),
                   [](const Cpu& a, const Cpu& b) { return a.speed > b.speed; });
  for (size_t i = out.size(); i < by_speed.size() && i < n_threads; ++i) out.push_back(by_speed[i].id);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<Placement> place(unsigned n_threads, std::string_view cpus, const std::vector<Cpu>& allowed) {
  if (n_threads > kMaxThreads)
    return Status(Code::ERR_INVALID_ARGUMENT,
                  format("thread count: expected 1 to %u, found %u", kMaxThreads, n_threads));
  Placement out;
  std::vector<unsigned> all;
  for (const Cpu& cpu : allowed) all.push_back(cpu.id);
  const bool automatic = cpus.empty(), none = cpus == "none";
  if (automatic || none) {
    out.cpus = fastest(n_threads, allowed);
  } else {
    auto listed = parse_cpus(cpus);
    if (!listed.ok()) return listed.status();
    out.cpus = listed.take();
    for (const unsigned cpu : out.cpus)
      if (!std::binary_search(all.begin(), all.end(), cpu))
        return Status(Code::ERR_INVALID_ARGUMENT,
                      format("cpus: expected some of %s, which this process may use, found %u",
                             format_cpus(all).c_str(), cpu));
  }
  const size_t n = n_threads != 0 ? n_threads : std::max<size_t>(out.cpus.size(), 1);
  out.n_threads = static_cast<unsigned>(std::min<size_t>(n, kMaxThreads));
  // Where all CPUs are alike there is nothing to keep to.
  if (none || (automatic && out.cpus == all)) out.cpus.clear();
  return out;
}

Status keep_to(pthread_t thread, const std::vector<unsigned>& cpus) {
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (const int error = pthread_setaffinity_np(thread, sizeof set, &set); error != 0)
    return {Code::ERR_INVALID_ARGUMENT, format("cpus: expected to keep to %s, found: %s",
                                               format_cpus(cpus).c_str(), std::strerror(error))};
  return {};
}

}  // namespace spiked
