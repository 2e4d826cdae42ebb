#include "base/topology.h"

#include <filesystem>
#include <fstream>

#include "unit.h"

namespace {

using namespace spiked;

/// A made-up /sys/devices/system/cpu, removed at the end.
class Tree {
 public:
  Tree() {
    std::string name = std::filesystem::temp_directory_path() / "spiked-cpus-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(unsigned cpu, const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / ("cpu" + std::to_string(cpu)) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string root() const { return root_; }

 private:
  std::filesystem::path root_;
};

const std::vector<unsigned> kEight{0, 1, 2, 3, 4, 5, 6, 7};

std::string big(const Tree& tree, const std::vector<unsigned>& cpus) {
  return format_cpus(big_cores(read_speeds(cpus, tree.root())));
}

// RK3588: four A55, and two pairs of A76 whose best clocks differ a little.
const char* const kClocks[] = {"1800000", "1800000", "1800000", "1800000",
                               "2256000", "2256000", "2304000", "2304000"};
const char* const kCapacities[] = {"414", "414", "414", "414", "1002", "1002", "1024", "1024"};

const unit::Unit capacity_unit("topology: RK3588's big cores, by capacity", [](unit::Test& t) {
  const Tree tree;
  for (unsigned cpu : kEight) tree.write(cpu, "cpu_capacity", kCapacities[cpu]);
  t.expect(big(tree, kEight) == "4-7", big(tree, kEight));
  t.expect(big(tree, {0, 1, 2, 3, 5}) == "5", "only those allowed");
  t.expect(big(tree, {1, 3}) == "1,3", "without big cores the little ones are the best there are");
  t.expect(read_speeds(kEight, tree.root())[0].speed == 414, "a little core keeps its figure");
});

const unit::Unit clock_unit("topology: RK3588's big cores, by clock where there is no capacity",
                            [](unit::Test& t) {
                              const Tree tree;
                              for (unsigned cpu : kEight)
                                tree.write(cpu, "cpufreq/cpuinfo_max_freq", kClocks[cpu]);
                              t.expect(big(tree, kEight) == "4-7", big(tree, kEight));
                              // One CPU without a capacity: capacities do not count.
                              tree.write(0, "cpu_capacity", "1024");
                              t.expect(big(tree, kEight) == "4-7", big(tree, kEight));
                            });

const unit::Unit middle_unit("topology: a middle kind is big, too", [](unit::Test& t) {
  const Tree tree;
  const char* const capacities[] = {"325", "325", "325", "325", "828", "828", "828", "1024"};
  for (unsigned cpu : kEight) tree.write(cpu, "cpu_capacity", capacities[cpu]);
  t.expect(big(tree, kEight) == "4-7", big(tree, kEight));
});

const unit::Unit even_unit("topology: all alike, and a machine that says nothing", [](unit::Test& t) {
  const Tree tree;
  t.expect(big(tree, kEight) == "0-7", big(tree, kEight));
  for (unsigned cpu : kEight) tree.write(cpu, "cpufreq/cpuinfo_max_freq", cpu == 3 ? "5700000" : "5450000");
  t.expect(big(tree, kEight) == "0-7", "a favoured core makes the others no little ones");
  tree.write(2, "cpufreq/cpuinfo_max_freq", "junk");
  t.expect(big(tree, kEight) == "0-7", "what cannot be read counts as nothing");
  t.expect(read_speeds({}, tree.root()).empty(), "no CPUs");
  const std::vector<unsigned> mine = allowed_cpus();
  t.expect(!mine.empty() && read_speeds(mine).size() == mine.size(), "this machine has CPUs");
});

const unit::Unit list_unit("topology: lists of CPUs, as taskset writes them", [](unit::Test& t) {
  for (const auto& [text, same] : std::vector<std::pair<std::string, std::string>>{
           {"4-7", "4-7"}, {"0", "0"}, {"7,0-2,2,1", "0-2,7"}, {"0-0", "0"}, {"1,2", "1-2"}}) {
    const auto cpus = parse_cpus(text);
    t.expect(cpus.ok() && format_cpus(cpus.value()) == same, text);
  }
  for (const char* bad :
       {"", ",", "4-", "-4", "7-4", "4--7", "a", "1,", "1;2", " 1", "4096", "0-99999", "1-2-3"}) {
    const auto cpus = parse_cpus(bad);
    t.expect(!cpus.ok() && cpus.status().code() == Code::ERR_INVALID_ARGUMENT, bad);
  }
});

}  // namespace
