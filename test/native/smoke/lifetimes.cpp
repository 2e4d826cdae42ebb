#include <algorithm>
#include <array>

#include "check.h"

// A session keeps its model alive and a model its engine: the three may be closed in any order, and what is still open works.
void check_lifetimes(Checks& checks, const char* path) {
  std::array<int, 3> order{0, 1, 2};
  do {
    Opened on = open_all(checks, path, 2, nullptr);
    if (!on.ok()) return;
    const std::vector<int32_t> ids = some_ids(on.info, 3);
    for (int which : order) {
      if (which == 0) on.engine.reset();
      if (which == 1) on.model.reset();
      if (which == 2) on.session.reset();
      if (on.session) logits_of(checks, on, ids, 2);
      spiked_error error{};
      spiked_session* second = nullptr;
      if (on.model) {
        checks.status(spiked_session_open(on.model.get(), &second, &error), SPIKED_OK, "another session",
                      error);
        spiked_session_close(second);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  spiked_engine_close(nullptr);
  spiked_model_close(nullptr);
  spiked_session_close(nullptr);
  checks.that(true, "closing nothing is allowed");
}
