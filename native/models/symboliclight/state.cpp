#include "models/symboliclight/state.h"

#include <algorithm>

#include "tensor/matrix.h"

namespace spiked::symboliclight {

namespace {

KvWindow::Shape window_of(const Config& c) {
  return {c.n_layers, c.n_heads, c.head_dim, c.window, c.n_anchors, kMaxBatch};
}

/// Membrane and decay as they are then, and the window's share of the ids.
struct StateGain final : Gain {
  size_t n = 0;
  std::vector<float> values;    // membrane, then decay
  std::vector<uint8_t> kv;      // what the window's take() gives
  std::vector<uint8_t> spiked;  // the window's marks
};

}  // namespace

State::State(const Config& c)
    : membrane(c.embed_dim),
      decay(static_cast<size_t>(c.n_layers) * c.embed_dim),
      trail_((kMaxRevocable + 1) * trail_entry()) {
  if (c.sparse_attn) kv = KvWindow(window_of(c));
}

void State::clear() {
  position = 0;
  membrane.zero();
  decay.zero();
  kv.clear();
}

void State::copy(const Sequence& other) {
  const auto& from = static_cast<const State&>(other);
  position = from.position;
  std::copy_n(from.membrane.data(), membrane.size(), membrane.data());
  std::copy_n(from.decay.data(), decay.size(), decay.data());
  kv.copy(from.kv, position);
}

size_t State::size_bytes() const {
  return (membrane.size() + decay.size() + trail_.size()) * sizeof(float) + kv.size_bytes();
}

size_t State::size_bytes(const Config& c) {
  return (kMaxRevocable + 2) * (c.n_layers + size_t{1}) * c.embed_dim * sizeof(float) +
         (c.sparse_attn ? KvWindow::size_bytes(window_of(c)) : 0);
}

void State::begin_trail(size_t n) {
  trail_ids_ = n;
  std::copy_n(membrane.data(), membrane.size(), trail_membrane(0));
  std::copy_n(decay.data(), decay.size(), trail_decay(0));
}

// Keys and values stay where they are: the ring keeps kMaxBatch more positions than any query sees, so that what those ids displaced
// is past seeing anyway.
void State::take_back(size_t n) {
  trail_ids_ -= n;
  std::copy_n(trail_membrane(trail_ids_), membrane.size(), membrane.data());
  std::copy_n(trail_decay(trail_ids_), decay.size(), decay.data());
  position -= n;
}

std::unique_ptr<const Gain> State::gain(size_t n) const {
  auto out = std::make_unique<StateGain>();
  out->n = n;
  out->values.resize(membrane.size() + decay.size());
  out->kv.resize(kv.taken_bytes(n));
  out->spiked.resize(kv.taken_marks(n));
  float* at = std::copy_n(membrane.data(), membrane.size(), out->values.data());
  std::copy_n(decay.data(), decay.size(), at);
  kv.take(position - n, n, out->kv.data(), out->spiked.data());
  return out;
}

size_t State::gain_bytes(size_t n) const {
  return (membrane.size() + decay.size()) * sizeof(float) + kv.taken_bytes(n) + kv.taken_marks(n);
}

void State::add(const Gain& gain) {
  const auto& gained = static_cast<const StateGain&>(gain);
  const float* at = gained.values.data();
  std::copy_n(at, membrane.size(), membrane.data());
  std::copy_n(at + membrane.size(), decay.size(), decay.data());
  kv.put(position, gained.n, gained.kv.data(), gained.spiked.data());
  position += gained.n;
}

Stream::Stream(size_t n_positions, size_t d_stride, size_t f_stride)
    : c(n_positions * d_stride), spikes(n_positions * d_stride), fired(n_positions * f_stride) {}

size_t Stream::size_bytes() const {
  return c.size() * sizeof(float) + (spikes.size() + fired.size()) * sizeof(uint32_t);
}

Scratch::Scratch(const Config& cfg, unsigned n_workers)
    : d_stride(round_up(cfg.embed_dim, layout::kActivationPad)),
      f_stride(round_up(cfg.ffn_dim, layout::kActivationPad)),
      stream(kMaxBatch, d_stride, f_stride),
      a(kMaxBatch * d_stride),
      q(kMaxBatch * d_stride),
      k(kMaxBatch * d_stride),
      v(kMaxBatch * d_stride),
      u(kMaxBatch * d_stride),
      z(kMaxBatch * f_stride),
      mixer_parts(n_workers * d_stride),
      down_parts(n_workers * d_stride),
      cos(kMaxBatch * (cfg.head_dim / 2)),
      sin(kMaxBatch * (cfg.head_dim / 2)),
      workers(n_workers) {
  const size_t visible = cfg.sparse_attn ? static_cast<size_t>(cfg.window) + cfg.n_anchors + 1 : 0;
  for (Worker& w : workers) {
    w.own = Stream(1, d_stride, f_stride);
    w.sum = AlignedArray<float>(d_stride);
    w.scaled = AlignedArray<float>(d_stride);
    w.sums = AlignedArray<int32_t>(d_stride);
    w.key_rows.resize(kMaxBatch * visible);
    w.scores.resize(visible);
    // Each worker quantises for itself: cheaper than a barrier. Pages of a precision that is not in use cost nothing.
    w.q8 = AlignedArray<int8_t>(kMaxBatch * d_stride);
    w.q16 = AlignedArray<int16_t>(kMaxBatch * d_stride);
    w.ones = AlignedArray<float>(d_stride > f_stride ? d_stride : f_stride);
  }
}

size_t Scratch::size_bytes() const {
  size_t n = (a.size() + q.size() + k.size() + v.size() + u.size() + z.size() + cos.size() + sin.size()) *
             sizeof(float);
  n += stream.size_bytes() + (mixer_parts.size() + down_parts.size()) * sizeof(int32_t);
  for (const Worker& w : workers)
    n += w.own.size_bytes() + (w.sum.size() + w.scaled.size() + w.ones.size()) * sizeof(float) +
         w.sums.size() * sizeof(int32_t) + w.key_rows.size() * sizeof(uint32_t) +
         w.scores.size() * sizeof(float) + w.q8.size() + w.q16.size() * sizeof(int16_t);
  return n;
}

}  // namespace spiked::symboliclight
