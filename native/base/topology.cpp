#include "base/topology.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

namespace spiked {
namespace {

constexpr uint32_t kFullSpeed = 1024;
constexpr unsigned kMaxCpu = 4095;
// A capacity counts work per time: little cores have 0.25 to 0.45 of the biggest core's, the middle kind of three 0.7 and more.
constexpr double kBigCapacity = 0.5;
// Clocks say less, as a little core does less in a cycle: RK3588's run at 0.75 to 0.8 of the big ones' clock. Big cores of one kind
// differ by a tenth (binning, favoured cores).
constexpr double kBigClock = 0.85;

std::optional<uint64_t> read_number(const std::string& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (!(in >> value) || value == 0) return std::nullopt;
  return value;
}

// One file of every CPU, or nothing when one lacks it.
std::vector<uint64_t> read_all(const std::vector<unsigned>& cpus, const std::string& root, const char* file) {
  std::vector<uint64_t> values;
  for (const unsigned cpu : cpus) {
    const auto value = read_number(root + "/cpu" + std::to_string(cpu) + "/" + file);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

// Speeds relative to the fastest. What is nearly as fast counts as fast, what is a kind of its own keeps its figure.
std::vector<Cpu> relative(const std::vector<unsigned>& cpus, const std::vector<uint64_t>& values,
                          double big) {
  const auto most = static_cast<double>(*std::max_element(values.begin(), values.end()));
  std::vector<Cpu> out;
  for (size_t i = 0; i < cpus.size(); ++i) {
    const double share = static_cast<double>(values[i]) / most;
    out.push_back({cpus[i], share >= big ? kFullSpeed : static_cast<uint32_t>(share * kFullSpeed)});
  }
  return out;
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

std::vector<Cpu> read_speeds(const std::vector<unsigned>& cpus, const std::string& root) {
  if (cpus.empty()) return {};
  if (const auto capacity = read_all(cpus, root, "cpu_capacity"); !capacity.empty())
    return relative(cpus, capacity, kBigCapacity);
  if (const auto khz = read_all(cpus, root, "cpufreq/cpuinfo_max_freq"); !khz.empty())
    return relative(cpus, khz, kBigClock);
  return relative(cpus, std::vector<uint64_t>(cpus.size(), 1), 1.0);
}

std::vector<unsigned> big_cores(const std::vector<Cpu>& cpus) {
  std::vector<unsigned> out;
  for (const Cpu& cpu : cpus)
    if (cpu.speed == kFullSpeed) out.push_back(cpu.id);
  return out;
}

std::string format_cpus(std::vector<unsigned> cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::string out;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(cpus[i]);
    if (last > i) out += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return out;
}

Result<std::vector<unsigned>> parse_cpus(std::string_view list) {
  const Status bad(
      Code::ERR_INVALID_ARGUMENT,
      format("cpus: expected a list such as \"4-7\" or \"0,2\", found \"%.64s\"", std::string(list).c_str()));
  std::vector<unsigned> out;
  const char *at = list.data(), *end = at + list.size();
  const auto number = [&](unsigned& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value <= kMaxCpu;
  };
  for (;;) {
    unsigned first = 0;
    if (!number(first)) return bad;
    unsigned last = first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(last) || last < first) return bad;
    }
    for (unsigned cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
    if (at == end) break;
    if (*at++ != ',') return bad;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace spiked
