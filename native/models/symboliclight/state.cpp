#include "models/symboliclight/state.h"

#include <algorithm>

#include "tensor/matrix.h"

namespace spiked::symboliclight {

namespace {

KvWindow::Shape window_of(const Config& c) {
  return {c.n_layers, c.n_heads, c.head_dim, c.window, c.n_anchors, kMaxBatch};
}

}  // namespace

State::State(const Config& c) : membrane(c.embed_dim), decay(static_cast<size_t>(c.n_layers) * c.embed_dim) {
  if (c.sparse_attn) kv = KvWindow(window_of(c));
}

void State::clear() {
  position = 0;
  membrane.zero();
  decay.zero();
  kv.clear();
}

void State::copy(const State& from) {
  position = from.position;
  std::copy_n(from.membrane.data(), membrane.size(), membrane.data());
  std::copy_n(from.decay.data(), decay.size(), decay.data());
  kv.copy(from.kv, position);
}

size_t State::size_bytes() const {
  return (membrane.size() + decay.size()) * sizeof(float) + kv.size_bytes();
}

size_t State::size_bytes(const Config& c) {
  return (c.n_layers + size_t{1}) * c.embed_dim * sizeof(float) +
         (c.sparse_attn ? KvWindow::size_bytes(window_of(c)) : 0);
}

StateGain::StateGain(const State& state, size_t n)
    : n_(n),
      values_(state.membrane.size() + state.decay.size() + state.kv.taken_floats(n)),
      spiked_(state.kv.taken_marks(n)) {
  float* at = std::copy_n(state.membrane.data(), state.membrane.size(), values_.data());
  at = std::copy_n(state.decay.data(), state.decay.size(), at);
  state.kv.take(state.position - n, n, at, spiked_.data());
}

void StateGain::add_to(State& state) const {
  const float* at = values_.data();
  std::copy_n(at, state.membrane.size(), state.membrane.data());
  std::copy_n(at += state.membrane.size(), state.decay.size(), state.decay.data());
  state.kv.put(state.position, n_, at + state.decay.size(), spiked_.data());
  state.position += n_;
}

size_t StateGain::size_bytes(const State& state, size_t n) {
  return (state.membrane.size() + state.decay.size() + state.kv.taken_floats(n)) * sizeof(float) +
         state.kv.taken_marks(n);
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
