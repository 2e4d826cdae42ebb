#pragma once
#include "capi/guard.h"
#include "capi/handles.h"

namespace spiked::capi {

/// Runs body, which computes with a session's model. What came of a file that changed meanwhile does not leave.
template <typename F>
spiked_status guard_model(const spiked_session* session, spiked_error* error, F&& body) {
  return guard(error, [&]() -> Status {
    Status status = body();
    if (status.code() != Code::ERR_CANCELLED) SPIKED_TRY(session->session.model().file->unchanged());
    return status;
  });
}

}  // namespace spiked::capi
