#ifndef SPIKED_ADDON_SAMPLING_H
#define SPIKED_ADDON_SAMPLING_H

#include <cstdint>
#include <vector>

#include "arg_reader.h"
#include "capi/spiked.h"

namespace spiked::addon {

/// Sampling of native/host/addon-types.ts; owns the banned ids that the C struct points to.
struct Sampling {
  spiked_sampling fields{};
  std::vector<int32_t> banned_ids;

  spiked_sampling c() const {
    spiked_sampling out = fields;
    out.banned = banned_ids.data();
    out.n_banned = banned_ids.size();
    return out;
  }
};

Sampling read_sampling(ArgReader& args, const Napi::Value& value);

}  // namespace spiked::addon

#endif
