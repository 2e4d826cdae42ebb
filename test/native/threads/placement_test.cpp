#include "threads/placement.h"

#include <thread>

#include "unit.h"

namespace {

using namespace spiked;

const std::vector<Cpu> kBoard{{0, 414},  {1, 414},  {2, 414},  {3, 414},
                              {4, 1024}, {5, 1024}, {6, 1024}, {7, 1024}};
const std::vector<Cpu> kEven{{0, 1024}, {1, 1024}};

/// "4 on 4-7"
std::string shown(const Result<Placement>& p) {
  if (!p.ok()) return p.status().message();
  return format("%u on %s", p.value().n_threads,
                p.value().cpus.empty() ? "any" : format_cpus(p.value().cpus).c_str());
}

const unit::Unit board_unit("placement: big cores by default, little ones when there are more threads",
                            [](unit::Test& t) {
                              const auto is = [&](unsigned n, const char* cpus, const char* expected) {
                                const std::string found = shown(place(n, cpus, kBoard));
                                t.expect(found == expected,
                                         format("%u threads, cpus \"%s\": expected %s, found %s", n, cpus,
                                                expected, found.c_str()));
                              };
                              is(0, "", "4 on 4-7");
                              is(1, "", "1 on 4-7");
                              is(6, "", "6 on 0-1,4-7");
                              is(8, "", "8 on any");
                              is(20, "", "20 on any");
                              is(0, "none", "4 on any");
                              is(8, "none", "8 on any");
                              is(0, "0-3", "4 on 0-3");
                              is(2, "5,4,0", "2 on 0,4-5");
                              is(3, "4", "3 on 4");
                              is(0, "0-7", "8 on 0-7");
                            });

const unit::Unit even_unit("placement: where all cores are alike, nothing is kept to", [](unit::Test& t) {
  t.expect(shown(place(0, "", kEven)) == "2 on any", shown(place(0, "", kEven)));
  t.expect(shown(place(5, "", kEven)) == "5 on any", shown(place(5, "", kEven)));
  t.expect(shown(place(0, "1", kEven)) == "1 on 1", shown(place(0, "1", kEven)));
  t.expect(shown(place(0, "", {})) == "1 on any", "an unknown machine has one CPU");
});

const unit::Unit refusals_unit(
    "placement: refuses CPUs that are not allowed, and lists that are none", [](unit::Test& t) {
      const auto refuses = [&](unsigned n, const char* cpus, const char* part) {
        const auto p = place(n, cpus, kEven);
        t.expect(!p.ok() && p.status().code() == Code::ERR_INVALID_ARGUMENT &&
                     p.status().message().find(part) != std::string::npos,
                 format("%s: %s", cpus, shown(p).c_str()));
      };
      refuses(0, "0-2", "expected some of 0-1, which this process may use, found 2");
      refuses(0, "big", "expected a list such as \"4-7\" or \"0,2\", found \"big\"");
      refuses(257, "", "expected 1 to 256, found 257");
    });

const unit::Unit keep_unit(
    "placement: a thread keeps to its CPUs, and others stay where they are", [](unit::Test& t) {
      const std::vector<unsigned> all = allowed_cpus();
      std::thread([&] {
        const Status kept = keep_to(pthread_self(), {all.back()});
        t.expect(kept.ok(), kept.message());
        t.expect(allowed_cpus() == std::vector<unsigned>{all.back()}, format_cpus(allowed_cpus()));
        t.expect(keep_to(pthread_self(), {}).ok() && allowed_cpus().size() == 1, "no CPUs change nothing");
        t.expect(!keep_to(pthread_self(), {CPU_SETSIZE + 1u}).ok(), "a CPU that is not there is refused");
      }).join();
      t.expect(allowed_cpus() == all, "this thread");
    });

}  // namespace
