#pragma once
#include "capi/spiked.h"
#include "session/session.h"

namespace spiked::capi {

inline spiked_session_stats stats_of(const SessionStats& s) {
  return {s.position,
          s.activity.mixer_active,
          s.activity.ffn_active,
          s.activity.mixer_total,
          s.activity.ffn_total,
          s.bytes_touched,
          s.kv_bytes_touched,
          s.state_bytes,
          s.cached_positions,
          s.batch};
}

}  // namespace spiked::capi
