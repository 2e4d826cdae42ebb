#include "session/session.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace spiked {
namespace {

sampler::Style style_of(const Facts& facts) {
  return std::string_view(facts.form) == "194m" ? sampler::Style::k194m : sampler::Style::k08b;
}

}  // namespace

Session::Session(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      sequence_(model_->network->new_sequence()),
      workspace_(*model_->workspace),
      hidden_(workspace_.scratch->hidden_stride()),
      sampler_(style_of(model_->facts()), model_->facts().vocab_size),
      lookup_(model_->facts().max_context) {
  history_.reserve(model_->facts().max_context);  // a token should allocate nothing
  begin_prefix();
}

Session::Session(const Session& from) : Session(from.model_) {
  sequence_->copy(*from.sequence_);
  history_.assign(from.history_.begin(), from.history_.end());
  generator_ = from.generator_;
  activity_ = from.activity_;
  prefix_ = from.prefix_;
  cached_positions_ = from.cached_positions_;
  torn_ = from.torn_;
  std::copy_n(from.hidden_.data(), hidden_.size(), hidden_.data());
  has_hidden_ = from.has_hidden_;
}

Result<Reservation> Session::reserve(const Model& model) {
  const Facts& f = model.facts();
  const size_t sampling = f.vocab_size * (sizeof(float) + sizeof(uint8_t) + sizeof(sampler::Candidate));
  const size_t own = model.network->sequence_bytes() +
                     model.workspace->scratch->hidden_stride() * sizeof(float) +
                     f.max_context * sizeof(int32_t) + Lookup::size_bytes(f.max_context) + sampling;
  return model.ask(Memory::kSessions, own, "a session");
}

void Session::reset() {
  sequence_->clear();
  history_.clear();
  lookup_.clear();
  activity_ = {};
  bytes_touched_ = kv_bytes_touched_ = cached_positions_ = batch_ = 0;
  begin_prefix();
  last_ = nullptr;
  has_hidden_ = torn_ = false;
  cancel_.store(false, std::memory_order_relaxed);
}

Status Session::check_ids(const int32_t* ids, size_t n) const {
  if (n == 0) return {Code::ERR_PROMPT_EMPTY, "expected at least one token id, found none"};
  if (torn_) return {Code::ERR_CANCELLED, "the session ended in the middle of a pass; reset it first"};
  // Here, before the first of several passes: nothing is fed.
  if (const uint32_t room = model_->facts().room; room != 0 && sequence_->position + n > room)
    return {Code::ERR_CONTEXT_FULL,
            format("expected at most %u positions, found %zu and %zu more", room, sequence_->position, n)};
  for (size_t i = 0; i < n; ++i)
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= model_->facts().vocab_size)
      return {Code::ERR_TOKEN_UNKNOWN, format("token %zu: expected an id from 0 to %u, found %d", i,
                                              model_->facts().vocab_size - 1, ids[i])};
  return {};
}

void Session::advance(const int32_t* ids, size_t n, const float* hidden, const Activity& seen) {
  history_.insert(history_.end(), ids, ids + n);
  std::copy_n(hidden, model_->facts().embed_dim, hidden_.data());
  has_hidden_ = true;
  activity_.mixer_active += seen.mixer_active;
  activity_.ffn_active += seen.ffn_active;
  activity_.mixer_total += seen.mixer_total;
  activity_.ffn_total += seen.ffn_total;
}

void Session::tear(const Status& why) {
  // Where the context had no room nothing was fed.
  if (why.code() == Code::ERR_CONTEXT_FULL) return;
  torn_ = true;
  has_hidden_ = false;
}

bool Session::take_over(const int32_t* ids, size_t n) {
  if (!prefix_ || n != PrefixCache::kIds || torn_ || cancel_.load(std::memory_order_relaxed)) return false;
  const PrefixCache::Place found = model_->prefixes->find(prefix_, ids);
  if (!found) return false;
  sequence_->add(*found->gain);
  advance(ids, n, found->hidden.data(), found->activity);
  cached_positions_ += n;
  prefix_ = found;
  return true;
}

Pass Session::pass_of(const std::atomic<bool>& cancel) {
  const Engine& engine = *model_->engine;
  return {*engine.pool, *engine.isa->kernels, cancel, engine.network.activations, profile()};
}

void Session::count_bytes(size_t n, const Activity& seen, size_t batch) {
  const Network& network = *model_->network;
  bytes_touched_ += network.dense_bytes() / batch +
                    (seen.mixer_active + seen.ffn_active) * network.column_bytes() +
                    n * network.embedding_bytes();
  kv_bytes_touched_ += seen.keys_read * network.key_bytes();
  batch_ = batch;
}

Status Session::pass(const int32_t* ids, size_t n, Trace* trace) {
  if (take_over(ids, n)) return {};
  Scratch& scratch = *workspace_.scratch;
  Part part{ids, n, sequence_.get()};
  if (!model_->network->forward(pass_of(cancel_), {&part, 1}, scratch, trace))
    part.status = {Code::ERR_CANCELLED, "cancelled"};
  if (!part.status.ok()) {
    tear(part.status);
    return part.status;
  }
  advance(ids, n, scratch.hidden() + (n - 1) * scratch.hidden_stride(), part.activity);
  if (prefix_)
    prefix_ = n == PrefixCache::kIds ? model_->prefixes->keep(prefix_, ids, *sequence_, hidden_.data(),
                                                              model_->facts().embed_dim, part.activity)
                                     : nullptr;
  count_bytes(n, part.activity, 1);
  return {};
}

Status Session::run_head(const float* hidden, size_t n) {
  head::Full& full = workspace_.heads.full();
  last_ = nullptr;
  workspace_.owner = nullptr;
  Stopwatch watch(profile());
  SPIKED_TRY(full.run(*model_->engine->pool, *model_->engine->isa->kernels, hidden,
                      workspace_.scratch->hidden_stride(), n, workspace_.logits.data()));
  watch.lap(Operation::kHead);
  last_ = workspace_.logits.data() + (n - 1) * full.logits_stride();
  workspace_.owner = this;
  return {};
}

Result<const float*> Session::last_logits() {
  if (last_ != nullptr && workspace_.owner != this) SPIKED_TRY(run_head(hidden_.data(), 1));
  return last_;
}

Status Session::forward(const int32_t* ids, size_t n, LogitsMode mode, float* logits, Trace* trace) {
  SPIKED_TRY(check_ids(ids, n));
  if (trace != nullptr) SPIKED_TRY(model_->network->check_trace(*trace));
  const Facts& f = model_->facts();
  const size_t v = f.vocab_size;
  const Scratch& scratch = *workspace_.scratch;
  const head::Full& full = workspace_.heads.full();
  bytes_touched_ = kv_bytes_touched_ = 0;
  last_ = nullptr;
  // Whoever looks at every position needs every position's pass.
  if (mode == LogitsMode::kAll || trace != nullptr) prefix_ = nullptr;
  for (size_t at = 0; at < n; at += kMaxBatch) {
    const size_t batch = std::min(kMaxBatch, n - at);
    if (trace != nullptr) {
      Trace part = trace->moved(at, f.embed_dim, size_t{f.n_heads} * f.head_dim, f.ffn_dim);
      SPIKED_TRY(pass(ids + at, batch, &part));
      trace->margin_encoder = part.margin_encoder;
      trace->margin_mixer = part.margin_mixer;
      trace->margin_ffn = part.margin_ffn;
    } else {
      SPIKED_TRY(pass(ids + at, batch, nullptr));
    }
    if (mode == LogitsMode::kAll) {
      for (size_t r = 0; r < batch; r += head::kMaxRows) {
        const size_t rows = std::min(head::kMaxRows, batch - r);
        SPIKED_TRY(run_head(scratch.hidden() + r * scratch.hidden_stride(), rows));
        bytes_touched_ += full.logical_bytes();
        for (size_t i = 0; i < rows; ++i)
          std::memcpy(logits + (at + r + i) * v, workspace_.logits.data() + i * full.logits_stride(),
                      v * sizeof(float));
      }
    } else if (mode == LogitsMode::kLast && at + batch == n) {
      SPIKED_TRY(run_head(hidden_.data(), 1));
      bytes_touched_ += full.logical_bytes();
      if (logits != nullptr) std::memcpy(logits, last_, v * sizeof(float));
    }
  }
  return {};
}

Result<std::span<const sampler::Candidate>> Session::distribution(const sampler::Settings& settings,
                                                                  size_t valid) {
  auto logits = last_logits();
  if (!logits.ok()) return logits.status();
  if (logits.value() == nullptr)
    return Status{Code::ERR_INVALID_ARGUMENT, "sample: expected a forward with logits first"};
  const size_t own = model_->facts().valid_vocab_size;
  return sampler_.distribution(logits.value(), valid == 0 ? own : std::min(valid, own), history_, settings);
}

Status Session::sample(const sampler::Settings& settings, size_t valid, int32_t* id, float* logprob) {
  auto candidates = distribution(settings, valid);
  if (!candidates.ok()) return candidates.status();
  *id = settings.temperature == 0.0f ? candidates.value()[0].id
                                     : sampler::Sampler::draw(candidates.value(), generator_);
  if (logprob != nullptr)
    *logprob = static_cast<float>(sampler::log_probability(last_, model_->facts().valid_vocab_size, *id));
  return {};
}

Status Session::next(const Ask& ask, int32_t* id, float* logprob, head::Step* step) {
  if (!has_hidden_) return {Code::ERR_INVALID_ARGUMENT, "next: expected a forward first"};
  SPIKED_TRY(draw(hidden_.data(), ask, id, logprob, step));
  bytes_touched_ += step->bytes;
  return {};
}

Status Session::choose(const float* hidden, const Ask& ask, int32_t* id, head::Step* step) {
  if (foreign_.size() == 0) foreign_ = AlignedArray<float>(hidden_.size());
  std::copy(hidden, hidden + model_->facts().embed_dim, foreign_.data());
  const Status status = draw(foreign_.data(), ask, id, nullptr, step);
  last_ = nullptr;  // the logits are of no position of this session
  return status;
}

Result<Ask> Session::checked(const Ask& ask) const {
  Ask own = ask;
  const size_t valid = model_->facts().valid_vocab_size;
  own.valid = ask.valid == 0 ? valid : std::min(ask.valid, valid);
  SPIKED_TRY(own.sampling.check());
  SPIKED_TRY(own.head.check(model_->network->head()));
  return own;
}

Status Session::draw(const float* hidden, const Ask& ask, int32_t* id, float* logprob, head::Step* step) {
  auto own = checked(ask);
  if (!own.ok()) return own.status();
  std::span<const int32_t> rows;
  float* logits = workspace_.logits.data();
  Stopwatch watch(profile());
  workspace_.owner = nullptr;  // a head that ends early leaves nobody's logits
  SPIKED_TRY(workspace_.heads.run(hidden, own.value(), history_, logits, &rows, step));
  watch.lap(Operation::kHead);
  last_ = step->mode == head::Mode::kFull ? logits : nullptr;
  workspace_.owner = this;
  SPIKED_TRY(pick(logits, rows, own.value(), id, logprob, step));
  watch.lap(Operation::kSampling);
  return {};
}

Status Session::pick(const float* logits, std::span<const int32_t> rows, const Ask& ask, int32_t* id,
                     float* logprob, head::Step* step) {
  auto candidates = sampler_.distribution(logits, ask.valid, history_, ask.sampling, rows);
  if (!candidates.ok()) return candidates.status();
  *id = ask.sampling.temperature == 0.0f ? candidates.value()[0].id
                                         : sampler::Sampler::draw(candidates.value(), generator_);
  if (step->id_before < 0) step->id_before = *id;
  if (ask.want_logprob)
    *logprob = static_cast<float>(sampler::log_probability(logits, model_->facts().valid_vocab_size, *id));
  return {};
}

Status Session::begin_score(const int32_t* ids, size_t n, double* logprobs, double* masked_mass) {
  if (sequence_->position != 0)
    return {Code::ERR_INVALID_ARGUMENT,
            format("score: expected a fresh session, found one at position %zu", sequence_->position)};
  SPIKED_TRY(check_ids(ids, n));
  const size_t valid = model_->facts().valid_vocab_size;
  for (size_t i = 0; i < n; ++i)
    if (static_cast<size_t>(ids[i]) >= valid)
      return {Code::ERR_TOKEN_UNKNOWN,
              format("token %zu: expected an id that the tokenizer has (0 to %zu), found %d", i, valid - 1,
                     ids[i])};
  logprobs[0] = 0;
  if (masked_mass != nullptr) masked_mass[0] = 0;
  bytes_touched_ = kv_bytes_touched_ = 0;
  prefix_ = nullptr;
  return {};
}

Status Session::score_pass(const int32_t* ids, size_t n, size_t* at, double* logprobs, double* masked_mass) {
  if (*at == 0) SPIKED_TRY(begin_score(ids, n, logprobs, masked_mass));
  if (*at >= n || sequence_->position != *at)
    return {Code::ERR_INVALID_ARGUMENT, format("score: expected to go on at position %zu of %zu, found %zu",
                                               sequence_->position, n, *at)};
  const size_t valid = model_->facts().valid_vocab_size, batch = std::min(kMaxBatch, n - *at);
  const Scratch& scratch = *workspace_.scratch;
  const head::Full& full = workspace_.heads.full();
  SPIKED_TRY(pass(ids + *at, batch, nullptr));
  for (size_t r = 0; r < batch && *at + r + 1 < n; r += head::kMaxRows) {
    const size_t rows = std::min({head::kMaxRows, batch - r, n - 1 - *at - r});
    SPIKED_TRY(run_head(scratch.hidden() + r * scratch.hidden_stride(), rows));
    bytes_touched_ += full.logical_bytes();
    for (size_t i = 0; i < rows; ++i) {
      const float* logits = workspace_.logits.data() + i * full.logits_stride();
      const size_t next = *at + r + i + 1;
      logprobs[next] = sampler::log_probability(logits, valid, ids[next]);
      if (masked_mass != nullptr)
        masked_mass[next] = sampler::mass_beyond(logits, valid, model_->facts().vocab_size);
    }
  }
  *at += batch;
  return {};
}

Status Session::reference(const int32_t* ids, size_t n, SpikeBytes<const uint8_t> given,
                          ops::Activations activations, const float* dense_inputs,
                          const symboliclight::ReferenceOutput& out) {
  SPIKED_TRY(check_ids(ids, n));
  if ((activations == ops::Activations::kF32) != (dense_inputs == nullptr))
    return {Code::ERR_INVALID_ARGUMENT, std::string("dense inputs: expected ") +
                                            (dense_inputs == nullptr ? "those of a forward" : "none") +
                                            " for these activations, found " +
                                            (dense_inputs == nullptr ? "none" : "some")};
  const auto* network = dynamic_cast<const symboliclight::Network*>(model_->network.get());
  if (network == nullptr) return not_spiking("the float64 reference");
  const symboliclight::ReferenceInput in{
      *model_->engine->pool, network->config(), network->weights(), cancel_, ids, n, given,
      activations,           dense_inputs};
  if (!symboliclight::reference(in, out)) return {Code::ERR_CANCELLED, "cancelled"};
  return {};
}

Status Session::not_spiking(const char* what) const {
  return {Code::ERR_MODEL_UNSUPPORTED,
          format("%s: expected a symboliclight model, found %s", what, model_->facts().architecture)};
}

Result<const symboliclight::State*> Session::spiking_state() const {
  const auto* state = dynamic_cast<const symboliclight::State*>(sequence_.get());
  if (state == nullptr) return not_spiking("membrane and decay state");
  return state;
}

SessionStats Session::stats() const {
  SessionStats s;
  s.position = sequence_->position;
  s.activity = activity_;
  s.bytes_touched = bytes_touched_;
  s.kv_bytes_touched = kv_bytes_touched_;
  s.cached_positions = cached_positions_;
  s.batch = batch_;
  s.state_bytes = sequence_->size_bytes();
  return s;
}

}  // namespace spiked
