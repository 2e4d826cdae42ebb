#include "capi/sampling.h"

namespace spiked::capi {

Result<sampler::Settings> settings_of(const spiked_sampling& in) {
  if (in.top_k < 0)
    return Status{Code::ERR_INVALID_ARGUMENT, format("top_k: expected 0 or more, found %d", in.top_k)};
  sampler::Settings s;
  s.temperature = in.temperature;
  s.top_k = static_cast<uint32_t>(in.top_k);
  s.top_p = in.top_p;
  s.repetition_penalty = in.repetition_penalty;
  s.adaptive_temperature = in.adaptive_temperature != 0;
  s.banned = {in.banned, in.n_banned};
  return s;
}

}  // namespace spiked::capi
