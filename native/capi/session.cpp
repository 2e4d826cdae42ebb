#include <algorithm>
#include <cstring>

#include "capi/clock.h"
#include "capi/guard_model.h"
#include "capi/sampling.h"
#include "capi/stats.h"

using namespace spiked;
using namespace spiked::capi;

namespace {

SpikeBytes<uint8_t> spikes_in(const spiked_spikes& in) { return {in.encoder, in.ffn, in.block}; }

Trace trace_in(const spiked_trace& in, size_t n) {
  Trace t;
  t.active_encoder = in.active_encoder;
  t.active_mixer = in.active_mixer;
  t.active_ffn = in.active_ffn;
  t.block_out = in.block_out;
  t.stride = n;
  t.margin_encoder = in.margin_encoder;
  t.margin_mixer = in.margin_mixer;
  t.margin_ffn = in.margin_ffn;
  t.spikes = spikes_in(in.spikes);
  t.given = {in.given.encoder, in.given.ffn, in.given.block};
  t.dense_inputs = in.dense_inputs;
  t.codes = {in.codes.attn_in, in.codes.attn_out, in.codes.ffn_in, in.codes.ffn_down, in.codes.absmax};
  t.final_norm = in.final_norm;
  return t;
}

}  // namespace

spiked_status spiked_session_open(spiked_model* model, spiked_session** out, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(model, "model"));
    SPIKED_TRY(require(out, "out"));
    auto reserved = Session::reserve(*model->model);
    if (!reserved.ok()) return reserved.status();
    *out = new spiked_session(reserved.take(), model->model);
    return {};
  });
}

spiked_status spiked_session_fork(const spiked_session* session, spiked_session** out, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(session, "session"));
    SPIKED_TRY(require(out, "out"));
    auto reserved = Session::reserve(session->session.model());
    if (!reserved.ok()) return reserved.status();
    *out = new spiked_session(reserved.take(), session->session);
    return {};
  });
}

void spiked_session_close(spiked_session* session) { delete session; }

spiked_status spiked_session_reset(spiked_session* session, spiked_error* error) {
  return guard(error, [&]() -> Status {
    session->session.reset();
    return {};
  });
}

void spiked_session_cancel(spiked_session* session) { session->session.cancel(); }
void spiked_session_seed(spiked_session* session, uint64_t seed) { session->session.seed(seed); }

spiked_status spiked_session_forward(spiked_session* session, const int32_t* ids, size_t n,
                                     int32_t logits_mode, float* logits, spiked_trace* trace,
                                     spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    if (n != 0) SPIKED_TRY(require(ids, "ids"));
    if (logits_mode < SPIKED_LOGITS_NONE || logits_mode > SPIKED_LOGITS_ALL)
      return {Code::ERR_INVALID_ARGUMENT, format("logits_mode: expected 0, 1 or 2, found %d", logits_mode)};
    if (logits_mode == SPIKED_LOGITS_ALL) SPIKED_TRY(require(logits, "logits"));
    const auto mode = static_cast<LogitsMode>(logits_mode);
    if (trace == nullptr) return session->session.forward(ids, n, mode, logits, nullptr);
    Trace t = trace_in(*trace, n);
    SPIKED_TRY(session->session.forward(ids, n, mode, logits, &t));
    trace->margin_encoder = t.margin_encoder;
    trace->margin_mixer = t.margin_mixer;
    trace->margin_ffn = t.margin_ffn;
    return {};
  });
}

spiked_status spiked_session_reference(spiked_session* session, const int32_t* ids, size_t n,
                                       const spiked_reference_input* input,
                                       const spiked_reference_output* output, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    if (n != 0) SPIKED_TRY(require(ids, "ids"));
    SPIKED_TRY(require(input, "input"));
    SPIKED_TRY(require(output, "output"));
    if (input->activations < SPIKED_ACTIVATIONS_F32 || input->activations > SPIKED_ACTIVATIONS_I16)
      return {Code::ERR_INVALID_ARGUMENT,
              format("activations: expected 0 (f32), 1 (i8) or 2 (i16), found %d", input->activations)};
    return session->session.reference(ids, n, {input->given.encoder, input->given.ffn, input->given.block},
                                      static_cast<ops::Activations>(input->activations), input->dense_inputs,
                                      {spikes_in(output->spikes),
                                       {output->margin_encoder, output->margin_ffn, output->margin_block},
                                       output->logits});
  });
}

spiked_status spiked_session_sample(spiked_session* session, const spiked_sampling* sampling, int32_t* id,
                                    float* logprob, uint64_t* t_ns, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    SPIKED_TRY(require(sampling, "sampling"));
    SPIKED_TRY(require(id, "id"));
    auto settings = settings_of(*sampling);
    if (!settings.ok()) return settings.status();
    SPIKED_TRY(session->session.sample(settings.value(), sampling->valid_vocab_size, id, logprob));
    if (t_ns != nullptr) *t_ns = monotonic_ns();
    return {};
  });
}

spiked_status spiked_session_probabilities(spiked_session* session, const spiked_sampling* sampling,
                                           spiked_probability* out, size_t* n, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    SPIKED_TRY(require(sampling, "sampling"));
    SPIKED_TRY(require(n, "n"));
    auto settings = settings_of(*sampling);
    if (!settings.ok()) return settings.status();
    auto found = session->session.distribution(settings.value(), sampling->valid_vocab_size);
    if (!found.ok()) return found.status();
    for (size_t i = 0; i < std::min(*n, found.value().size()); ++i)
      out[i] = {found.value()[i].id, found.value()[i].probability};
    *n = found.value().size();
    return {};
  });
}

spiked_status spiked_session_score_pass(spiked_session* session, const int32_t* ids, size_t n, size_t* at,
                                        double* logprobs, double* masked_mass, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    if (n != 0) {
      SPIKED_TRY(require(ids, "ids"));
      SPIKED_TRY(require(logprobs, "logprobs"));
    }
    SPIKED_TRY(require(at, "at"));
    return session->session.score_pass(ids, n, at, logprobs, masked_mass);
  });
}

void spiked_session_get_stats(const spiked_session* session, spiked_session_stats* out) {
  *out = stats_of(session->session.stats());
}

void spiked_session_set_profile(spiked_session* session, int32_t on) {
  session->session.set_profile(on != 0);
}

spiked_status spiked_session_read_profile(spiked_session* session, spiked_profile_entry* out, size_t* n,
                                          spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(out, "out"));
    SPIKED_TRY(require(n, "n"));
    const Profile profile = session->session.take_profile();
    for (size_t i = 0; i < std::min(*n, kOperations); ++i) out[i] = {kOperationNames[i], profile.ns[i]};
    *n = kOperations;
    return {};
  });
}

spiked_status spiked_session_membrane(const spiked_session* session, float* out, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(out, "out"));
    auto state = session->session.spiking_state();
    if (!state.ok()) return state.status();
    const auto& m = state.value()->membrane;
    std::memcpy(out, m.data(), m.size() * sizeof(float));
    return {};
  });
}

spiked_status spiked_session_decay(const spiked_session* session, float* out, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(out, "out"));
    auto state = session->session.spiking_state();
    if (!state.ok()) return state.status();
    const auto& d = state.value()->decay;
    std::memcpy(out, d.data(), d.size() * sizeof(float));
    return {};
  });
}

spiked_status spiked_session_kv_positions(const spiked_session* session, int32_t* out, size_t* n,
                                          spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(n, "n"));
    auto state = session->session.spiking_state();
    if (!state.ok()) return state.status();
    const auto kept = state.value()->kv.kept(state.value()->position);
    for (size_t i = 0; i < std::min(*n, kept.size()); ++i) out[i] = kept[i];
    *n = kept.size();
    return {};
  });
}
