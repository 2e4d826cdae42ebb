#include "models/bitnet/state.h"

#include <algorithm>

#include "ops/attention.h"

namespace spiked::bitnet {
namespace {

// No position passes the context, so none is ever overwritten and none needs room beside the others.
KvWindow::Shape window_of(const Config& c) {
  return {c.n_layers, c.n_kv_heads, c.head_dim, c.context - size_t{1}, 0, 1, c.kv_f16};
}

struct StateGain final : Gain {
  size_t n = 0;
  std::vector<uint8_t> kv, marks;  // what the window's take() gives
};

size_t widest(const Config& c) { return std::max({size_t{c.embed_dim}, c.attn_dim(), size_t{c.ffn_dim}}); }

}  // namespace

State::State(const Config& c) : kv(window_of(c)) {}

void State::clear() {
  position = 0;
  kv.clear();
}

void State::copy(const Sequence& other) {
  const auto& from = static_cast<const State&>(other);
  position = from.position;
  kv.copy(from.kv, position);
}

size_t State::size_bytes(const Config& c) { return KvWindow::size_bytes(window_of(c)); }

std::unique_ptr<const Gain> State::gain(size_t n) const {
  auto out = std::make_unique<StateGain>();
  out->n = n;
  out->kv.resize(kv.taken_bytes(n));
  out->marks.resize(kv.taken_marks(n));
  kv.take(position - n, n, out->kv.data(), out->marks.data());
  return out;
}

void State::add(const Gain& gain) {
  const auto& gained = static_cast<const StateGain&>(gain);
  kv.put(position, gained.n, gained.kv.data(), gained.marks.data());
  position += gained.n;
}

Stream::Stream(const Config& c, size_t n)
    : stride(round_up(widest(c), layout::kActivationPad)),
      h(n * round_up(c.embed_dim, layout::kActivationPad)),
      wide(n * stride),
      q(n * stride),
      rows(n),
      sums(n) {}

size_t Stream::size_bytes() const {
  return (h.size() + wide.size()) * sizeof(float) + q.size() + rows.size() * sizeof(kernels::TernaryRow) +
         sums.size() * sizeof(int32_t);
}

Scratch::Scratch(const Config& c, unsigned n_workers)
    : d_stride(round_up(c.embed_dim, layout::kActivationPad)),
      a_stride(round_up(c.attn_dim(), layout::kActivationPad)),
      kv_stride(round_up(c.kv_dim(), layout::kActivationPad)),
      f_stride(round_up(c.ffn_dim, layout::kActivationPad)),
      stream(c, kMaxBatch),
      q(kMaxBatch * a_stride),
      k(kMaxBatch * kv_stride),
      v(kMaxBatch * kv_stride),
      o(kMaxBatch * a_stride),
      y(kMaxBatch * d_stride),
      y_down(kMaxBatch * d_stride),
      gate(kMaxBatch * f_stride),
      up(kMaxBatch * f_stride),
      final_norm(kMaxBatch * d_stride),
      cos(kMaxBatch * (c.head_dim / 2)),
      sin(kMaxBatch * (c.head_dim / 2)),
      key_rows(kMaxBatch * size_t{c.context}),
      workers(n_workers) {
  for (Worker& w : workers) {
    w.own = Stream(c, 1);
    w.scores.resize(std::min<size_t>(c.n_heads / c.n_kv_heads, ops::kHeadsTogether) * c.context);
    w.y_scale.resize(kMaxBatch);
    w.embedding.resize(c.embed_dim);
  }
}

size_t Scratch::size_bytes() const {
  size_t n = (q.size() + k.size() + v.size() + o.size() + y.size() + y_down.size() + gate.size() + up.size() +
              final_norm.size() + cos.size() + sin.size()) *
             sizeof(float);
  n += stream.size_bytes() + key_rows.size() * sizeof(uint32_t);
  for (const Worker& w : workers)
    n += w.own.size_bytes() + (w.scores.size() + w.y_scale.size()) * sizeof(float) +
         w.embedding.size() * sizeof(uint16_t);
  return n;
}

}  // namespace spiked::bitnet
