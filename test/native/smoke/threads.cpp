#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"

namespace {

// Another thread cancels at odd moments; every forward either finishes or says so, and a reset brings the old answer back.
void cancel_from_outside(Checks& checks, const char* path) {
  const Opened on = open_all(checks, path, 2, nullptr);
  if (!on.ok()) return;
  const std::vector<int32_t> ids = some_ids(on.info, 24);
  const std::vector<float> expected = logits_of(checks, on, ids, ids.size());
  std::atomic<bool> done{false};
  std::thread outside([&] {
    for (unsigned i = 0; !done; ++i) {
      spiked_session_cancel(on.session.get());
      std::this_thread::sleep_for(std::chrono::microseconds(20 + i % 7 * 150));
    }
  });
  int cancelled = 0;
  spiked_error error{};
  std::vector<float> logits(on.info.vocab_size);
  for (int i = 0; i < 300 && cancelled < 20; ++i) {
    spiked_session_reset(on.session.get(), &error);
    const spiked_status got = spiked_session_forward(on.session.get(), ids.data(), ids.size(),
                                                     SPIKED_LOGITS_LAST, logits.data(), nullptr, &error);
    if (got == SPIKED_ERR_CANCELLED)
      ++cancelled;
    else
      checks.status(got, SPIKED_OK, "a forward that was not cancelled", error);
    if (got == SPIKED_OK)
      checks.that(same_bits(logits, expected), "a forward that was not cancelled is right");
  }
  done = true;
  outside.join();
  checks.that(cancelled > 0, "a cancel reaches a forward");
  checks.that(same_bits(logits_of(checks, on, ids, 5), expected),
              "after a reset the session answers as before");
}

// Two engines over one file, each on its own thread.
void side_by_side(Checks& checks, const char* path) {
  Checks mine[2];
  std::vector<float> logits[2];
  std::thread workers[2];
  for (int i = 0; i < 2; ++i)
    workers[i] = std::thread([&, i] {
      const Opened on = open_all(mine[i], path, 2, nullptr);
      if (!on.ok()) return;
      for (int round = 0; round < 5; ++round) logits[i] = logits_of(mine[i], on, some_ids(on.info, 9), 4);
    });
  for (std::thread& worker : workers) worker.join();
  for (const Checks& each : mine) {
    checks.passed += each.passed;
    checks.failed += each.failed;
  }
  checks.that(same_bits(logits[0], logits[1]), "engines side by side give the same bits");
}

}  // namespace

void check_threads(Checks& checks, const char* path) {
  cancel_from_outside(checks, path);
  side_by_side(checks, path);
}
