#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace spiked {

/// One CPU and how fast it is beside the others of the machine; 1024 is the fastest.
struct Cpu {
  unsigned id;
  uint32_t speed;
};

/// CPUs that this thread may run on, ascending: its affinity, which a cpuset (cgroup) limits too.
std::vector<unsigned> allowed_cpus();

/// The same CPUs with their speeds: `cpu_capacity` where the kernel has it, else `cpufreq/cpuinfo_max_freq`, else all alike.
///
/// root  the folder that holds cpu0, cpu1, ...; tests bring their own
std::vector<Cpu> read_speeds(const std::vector<unsigned>& cpus,
                             const std::string& root = "/sys/devices/system/cpu");

/// Those that are not a slower kind, ascending: all where the cores are alike.
std::vector<unsigned> big_cores(const std::vector<Cpu>& cpus);

/// "0-3,6": ascending, as taskset writes it.
std::string format_cpus(std::vector<unsigned> cpus);
/// The CPUs of a list such as "4-7" or "1,4-6", ascending, each once.
/// Errors: ERR_INVALID_ARGUMENT.
Result<std::vector<unsigned>> parse_cpus(std::string_view list);

}  // namespace spiked
