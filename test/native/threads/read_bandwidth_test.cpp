#include "threads/read_bandwidth.h"

#include "unit.h"

namespace {

using namespace spiked;

constexpr size_t kMiB = size_t{1} << 20;

const unit::Unit plausible_unit("read bandwidth: a plausible figure", [](unit::Test& t) {
  const auto measured = read_bandwidth_gb_s(1, 16 * kMiB, 3);
  t.expect(measured.ok(), measured.ok() ? "" : measured.status().message());
  if (!measured.ok()) return;
  t.note(format("%.2f GB/s", measured.value()));
  // Emulated or beside other work it may be slow, but not beyond any bus.
  t.expect(measured.value() > 0.001 && measured.value() < 5000, format("found %g GB/s", measured.value()));
});

const unit::Unit arguments_unit("read bandwidth: refuses what it cannot measure", [](unit::Test& t) {
  const auto refused = [&](unsigned n_threads, size_t size_bytes, unsigned rounds) {
    const auto r = read_bandwidth_gb_s(n_threads, size_bytes, rounds);
    t.expect(!r.ok() && r.status().code() == Code::ERR_INVALID_ARGUMENT, "expected ERR_INVALID_ARGUMENT");
  };
  refused(0, 16 * kMiB, 3);
  refused(100000, 16 * kMiB, 3);
  refused(1, kMiB - 256, 3);
  refused(1, 16 * kMiB, 0);
  refused(1, 16 * kMiB, 1001);
  const auto r = read_bandwidth_gb_s(1, size_t{1} << 60, 1);
  t.expect(!r.ok() && r.status().code() == Code::ERR_NO_MEMORY, "expected ERR_NO_MEMORY");
});

}  // namespace
