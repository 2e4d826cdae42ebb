#include <vector>

#include "capi/clock.h"
#include "capi/guard_model.h"
#include "capi/sampling.h"
#include "capi/stats.h"

using namespace spiked;
using namespace spiked::capi;

namespace {

Status out_of(const char* name, int32_t last, int32_t found) {
  return {Code::ERR_INVALID_ARGUMENT, format("head.%s: expected 0 to %d, found %d", name, last, found)};
}

Result<head::Settings> head_of(const spiked_head* in) {
  head::Settings s;
  if (in == nullptr) return s;
  if (in->mode < SPIKED_HEAD_FULL || in->mode > SPIKED_HEAD_TOPK)
    return out_of("mode", SPIKED_HEAD_TOPK, in->mode);
  if (in->activations < SPIKED_ACTIVATIONS_F32 || in->activations > SPIKED_ACTIVATIONS_I16)
    return out_of("activations", SPIKED_ACTIVATIONS_I16, in->activations);
  if (in->scope < SPIKED_SCOPE_PROJECTION || in->scope > SPIKED_SCOPE_HEAD)
    return out_of("scope", SPIKED_SCOPE_HEAD, in->scope);
  s.mode = static_cast<head::Mode>(in->mode);
  s.activations = static_cast<ops::Activations>(in->activations);
  s.scope = static_cast<head::Scope>(in->scope);
  s.k = in->k;
  s.threshold = in->threshold;
  s.cap = in->cap;
  return s;
}

Result<Ask> ask_of(const spiked_sampling& sampling, const spiked_head* head, bool want_logprob) {
  auto settings = settings_of(sampling);
  if (!settings.ok()) return settings.status();
  auto found = head_of(head);
  if (!found.ok()) return found.status();
  return Ask{settings.value(), sampling.valid_vocab_size, want_logprob, found.value()};
}

void fill(const head::Step& from, spiked_head_step* to) {
  if (to == nullptr) return;
  *to = {static_cast<int32_t>(from.mode),
         from.triggered ? 1 : 0,
         from.proved ? 1 : 0,
         from.fell_back ? 1 : 0,
         from.gap,
         from.rows,
         from.survivors,
         from.id_before,
         from.projection_ns,
         from.prior_ns,
         from.selection_ns,
         from.verification_ns,
         from.bytes};
}

Status check_step(const spiked_joint_step* steps, size_t i) {
  SPIKED_TRY(require(steps[i].session, "session"));
  SPIKED_TRY(require(steps[i].sampling, "sampling"));
  SPIKED_TRY(require(steps[i].drawn, "drawn"));
  if (steps[i].n_stop_ids != 0) SPIKED_TRY(require(steps[i].stop_ids, "stop_ids"));
  if (steps[i].max_draft > SPIKED_MAX_DRAFT)
    return {Code::ERR_INVALID_ARGUMENT,
            format("max_draft: expected at most %d, found %u", SPIKED_MAX_DRAFT, steps[i].max_draft)};
  if (spiked_session_group(steps[i].session) != spiked_session_group(steps[0].session))
    return {Code::ERR_INVALID_ARGUMENT,
            format("session %zu: expected one of the first session's model, found another's", i)};
  for (size_t j = 0; j < i; ++j)
    if (steps[j].session == steps[i].session)
      return {Code::ERR_INVALID_ARGUMENT,
              format("session %zu: expected each session once, found it at %zu too", i, j)};
  return {};
}

}  // namespace

spiked_status spiked_model_check_head(const spiked_model* model, const spiked_head* head,
                                      spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(model, "model"));
    SPIKED_TRY(require(head, "head"));
    auto found = head_of(head);
    if (!found.ok()) return found.status();
    return found.value().check(model->model->network->head());
  });
}

spiked_status spiked_session_next(spiked_session* session, const spiked_sampling* sampling,
                                  const spiked_head* head, int32_t* id, float* logprob, uint64_t* t_ns,
                                  spiked_head_step* step, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    SPIKED_TRY(require(sampling, "sampling"));
    SPIKED_TRY(require(id, "id"));
    auto ask = ask_of(*sampling, head, logprob != nullptr);
    if (!ask.ok()) return ask.status();
    head::Step found;
    SPIKED_TRY(session->session.next(ask.value(), id, logprob, &found));
    if (t_ns != nullptr) *t_ns = monotonic_ns();
    fill(found, step);
    return {};
  });
}

spiked_status spiked_session_choose(spiked_session* session, const float* hidden,
                                    const spiked_sampling* sampling, const spiked_head* head, int32_t* id,
                                    spiked_head_step* step, spiked_error* error) {
  return guard_model(session, error, [&]() -> Status {
    SPIKED_TRY(require(hidden, "hidden"));
    SPIKED_TRY(require(sampling, "sampling"));
    SPIKED_TRY(require(id, "id"));
    auto ask = ask_of(*sampling, head, false);
    if (!ask.ok()) return ask.status();
    head::Step found;
    SPIKED_TRY(session->session.choose(hidden, ask.value(), id, &found));
    fill(found, step);
    return {};
  });
}

const void* spiked_session_group(const spiked_session* session) { return &session->session.model(); }

spiked_status spiked_sessions_step(spiked_joint_step* steps, size_t n, spiked_error* error) {
  static_assert(SPIKED_MAX_JOINT == kMaxBatch && SPIKED_MAX_DRAFT == kMaxDraft);
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(steps, "steps"));
    if (n == 0 || n > SPIKED_MAX_JOINT)
      return {Code::ERR_INVALID_ARGUMENT,
              format("steps: expected 1 to %d sessions, found %zu", SPIKED_MAX_JOINT, n)};
    SPIKED_TRY(require(steps[0].session, "session"));
    std::vector<JointStep>& joint = steps[0].session->joint;
    joint.clear();
    joint.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      SPIKED_TRY(check_step(steps, i));
      auto ask = ask_of(*steps[i].sampling, steps[i].head, steps[i].want_logprob != 0);
      if (!ask.ok()) return ask.status();
      JointStep step{&steps[i].session->session, steps[i].fed, ask.take()};
      step.max_draft = steps[i].max_draft;
      step.stop_ids = {steps[i].stop_ids, steps[i].n_stop_ids};
      joint.push_back(step);
    }
    Session::step_together(joint);
    SPIKED_TRY(steps[0].session->session.model().file->unchanged());
    const uint64_t t_ns = monotonic_ns();
    for (size_t i = 0; i < n; ++i) {
      const JointStep& step = joint[i];
      report(step.status, &steps[i].error);
      steps[i].n_guessed = static_cast<uint32_t>(step.n_guessed);
      steps[i].n_drawn = step.n_drawn;
      for (size_t j = 0; j < step.n_drawn; ++j) {
        spiked_drawn& out = steps[i].drawn[j];
        out.id = step.drawn[j].id;
        out.logprob = step.drawn[j].logprob;
        out.t_ns = t_ns;
        fill(step.drawn[j].head, &out.head_step);
        out.stats = stats_of(step.drawn[j].stats);
      }
    }
    return {};
  });
}
