// The paper's symbols and ours: h residual stream, RMS rms_norm, BL a ternary product (ops/ternary.h), g gate, u up, kv head = head / group.
#include "models/bitnet/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "models/bitnet/positions.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/ternary.h"
#include "threads/partition.h"

namespace spiked::bitnet {
namespace {

/// The four rows of a layer that are quantised.
enum Input : size_t { kAttnIn, kAttnOut, kFfnIn, kFfnDown };

/// One worker's walk through the model; all workers walk together and meet at barriers.
///
/// What a position needs as a whole (norms, quantising) is shared out by position. In a pass of one position every worker does it for itself, on
/// its own copy of the stream: the same operations give the same bits, and four of a layer's barriers go.
class Walk {
 public:
  Walk(const Pass& p, const Network& network, Positions& positions, Scratch& s, Trace* trace, Team& team,
       bool& stop)
      : k_(p.kernels),
        cfg_(network.config()),
        w_(network.weights()),
        cancel_(p.cancel),
        all_(positions),
        n_(positions.n),
        s_(s),
        trace_(team.index() == 0 || positions.n > 1 ? trace : nullptr),
        team_(team),
        stop_(stop),
        me_(s.workers[team.index()]),
        x_(positions.n == 1 && team.index() != 0 ? me_.own : s.stream),
        rows_{x_.q.data(), x_.rows.data(), x_.sums.data(), me_.y_scale.data(), x_.stride},
        factor_(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(cfg_.head_dim)))),
        watch_(team.index() == 0 ? p.profile : nullptr) {}

  void run() {
    embed();
    for (size_t layer = 0; layer < cfg_.n_layers; ++layer) {
      if (stop_) return;  // written before the last barrier, so all workers agree
      const BlockWeights& b = w_.blocks[layer];
      attention(layer, b);
      feed_forward(layer, b);
    }
    const Range mine = shared_positions();
    for (size_t t = mine.begin; t < mine.end; ++t) {
      float* out = s_.final_norm.data() + all_.row[t] * s_.d_stride;
      ops::rms_norm(k_, h(t), w_.output_norm, dim(), cfg_.norm_eps, out);
      if (trace_ != nullptr && trace_->final_norm != nullptr)
        std::memcpy(trace_->final_norm + t * dim(), out, dim() * sizeof(float));
    }
    watch_.lap(Operation::kNorms);
  }

 private:
  size_t dim() const { return cfg_.embed_dim; }
  float* h(size_t t) const { return x_.h.data() + t * s_.d_stride; }
  float* wide(size_t t) const { return x_.wide.data() + t * x_.stride; }

  // The positions of which this worker computes what they need as a whole, and of which it writes what all workers read.
  Range positions() const { return n_ == 1 ? Range{0, 1} : shared_positions(); }
  Range shared_positions() const { return share(n_, 1, team_.index(), team_.size()); }

  void barrier() {
    team_.barrier();
    watch_.lap(Operation::kBarriers);
  }
  // After work by position: a worker that did all of it for itself need not wait.
  void position_barrier() {
    if (n_ != 1) barrier();
  }

  // h = E[token], and what each position sees of the keys.
  void embed() {
    const size_t half = cfg_.head_dim / 2;
    const Range mine = shared_positions();
    for (size_t t = mine.begin; t < mine.end; ++t) {
      all_.embed(w_, t, dim(), me_.embedding.data(), s_.stream.h.data() + t * s_.d_stride);
      ops::rope_angles(w_.inv_freq.data(), half, all_.at[t], s_.cos.data() + t * half,
                       s_.sin.data() + t * half);
    }
    if (team_.index() == 0) {
      all_.find_keys(cfg_.context, s_.key_rows.data(), s_.n_keys, cfg_.n_layers);
      stop_ = cancel_.load(std::memory_order_relaxed);
    }
    watch_.lap(Operation::kEncode);
    barrier();
    if (&x_ != &s_.stream) std::memcpy(x_.h.data(), s_.stream.h.data(), dim() * sizeof(float));
  }

  // Quantises row t of n values as a layer's input `which`.
  void quantize(size_t layer, Input which, const float* x, size_t n, size_t t) {
    ops::quantize(k_, cfg_.half_away, x, n, t, rows_);
    if (!std::isfinite(x_.rows[t].absmax)) all_.not_finite(t, layer);
    if (trace_ == nullptr) return;
    const TernaryCodes& codes = trace_->codes;
    if (codes.absmax != nullptr) codes.absmax[(layer * 4 + which) * trace_->stride + t] = x_.rows[t].absmax;
    int8_t* const out[] = {codes.attn_in, codes.attn_out, codes.ffn_in, codes.ffn_down};
    if (out[which] != nullptr)
      std::memcpy(out[which] + (layer * trace_->stride + t) * n, x_.q.data() + t * x_.stride, n);
  }

  // The codes of RMS(x), for x [n] of position t.
  void norm_and_quantize(size_t layer, Input which, const float* x, const float* weight, size_t n, size_t t) {
    ops::rms_norm(k_, x, weight, n, cfg_.norm_eps, wide(t));
    quantize(layer, which, wide(t), n, t);
  }

  // One of the products that share an input.
  struct Product {
    const Matrix* w;
    float* y;
    size_t y_stride;
  };

  // y = BL(W, x) of each product, their rows shared out as those of one matrix.
  template <size_t count>
  void products(const Product (&all)[count]) {
    size_t n = 0;
    for (const Product& p : all) n += p.w->n_row_units();
    const ops::Runs runs = ops::runs(*all[0].w);
    team_.split(n, runs.least, runs.most, [&](const Range& units) {
      size_t first = 0;
      for (const Product& p : all) {
        const size_t last = first + p.w->n_row_units();
        const Range mine{std::max(units.begin, first), std::min(units.end, last)};
        if (mine.begin < mine.end)
          ops::linear(k_, *p.w, rows_, n_, mine.begin - first, mine.end - first, p.y, p.y_stride);
        first = last;
      }
    });
    watch_.lap(Operation::kProjections);
    barrier();
  }

  // h = h + BL(attn_output, RMS(attention(RMS(h)))).
  void attention(size_t layer, const BlockWeights& b) {
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      norm_and_quantize(layer, kAttnIn, h(t), b.attn_norm, dim(), t);
    watch_.lap(Operation::kNorms);
    position_barrier();
    products({Product{&b.q, s_.q.data(), s_.a_stride}, Product{&b.k, s_.k.data(), s_.kv_stride},
              Product{&b.v, s_.v.data(), s_.kv_stride}});
    keep_keys(layer);
    barrier();
    const size_t group = cfg_.n_heads / cfg_.n_kv_heads;
    team_.split(cfg_.n_heads, group, group, [&](const Range& heads) {
      for (size_t head = heads.begin, end; head < heads.end; head = end) {
        end = std::min({heads.end, (head / group + 1) * group, head + ops::kHeadsTogether});
        attend(layer, head, end - head, head / group);
      }
    });
    watch_.lap(Operation::kAttention);
    barrier();
    for (size_t t = mine.begin; t < mine.end; ++t)
      norm_and_quantize(layer, kAttnOut, s_.o.data() + t * s_.a_stride, b.attn_sub_norm, cfg_.attn_dim(), t);
    watch_.lap(Operation::kNorms);
    position_barrier();
    products({Product{&b.out, s_.y.data(), s_.d_stride}});
    for (size_t t = mine.begin; t < mine.end; ++t)
      ops::add(k_, h(t), s_.y.data() + t * s_.d_stride, dim(), h(t));
  }

  // Rotates this worker's share of the new keys and puts keys and values where the sequence keeps them.
  void keep_keys(size_t layer) {
    const size_t d = cfg_.head_dim, half = d / 2;
    const Range mine = share(cfg_.n_kv_heads, 1, team_.index(), team_.size());
    for (size_t head = mine.begin; head < mine.end; ++head)
      for (size_t t = 0; t < n_; ++t) {
        float *key = s_.k.data() + t * s_.kv_stride + head * d,
              *value = s_.v.data() + t * s_.kv_stride + head * d;
        ops::rope(k_, key, s_.cos.data() + t * half, s_.sin.data() + t * half, half);
        KvWindow& kv = all_.state[t]->kv;
        const size_t at = kv.row(all_.at[t]) * kv.stride();
        if (cfg_.kv_f16) {
          uint16_t *keys = kv.keys_f16(layer, head) + at, *values = kv.values_f16(layer, head) + at;
          for (size_t i = 0; i < d; ++i) keys[i] = half::from_f32(key[i]);
          for (size_t i = 0; i < d; ++i) values[i] = half::from_f32(value[i]);
        } else {
          std::memcpy(kv.keys(layer, head) + at, key, d * sizeof(float));
          std::memcpy(kv.values(layer, head) + at, value, d * sizeof(float));
        }
      }
  }

  // Heads that share a KV head, over all positions of the pass.
  void attend(size_t layer, size_t head, size_t n_heads, size_t kv_head) {
    const size_t d = cfg_.head_dim, half = d / 2;
    for (size_t t = 0; t < n_; ++t) {
      float *q = s_.q.data() + t * s_.a_stride + head * d, *o = s_.o.data() + t * s_.a_stride + head * d;
      for (size_t h = 0; h < n_heads; ++h)
        ops::rope(k_, q + h * d, s_.cos.data() + t * half, s_.sin.data() + t * half, half);
      KvWindow& kv = all_.state[t]->kv;
      const uint32_t* key_rows = s_.key_rows.data() + t * cfg_.context;
      if (cfg_.kv_f16)
        ops::attend(k_, q, n_heads,
                    ops::KvViewF16{kv.keys_f16(layer, kv_head), kv.values_f16(layer, kv_head), kv.stride()},
                    key_rows, s_.n_keys[t], d, factor_, me_.scores.data(), o);
      else
        ops::attend(k_, q, n_heads,
                    ops::KvView{kv.keys(layer, kv_head), kv.values(layer, kv_head), kv.stride()}, key_rows,
                    s_.n_keys[t], d, factor_, me_.scores.data(), o);
    }
  }

  // h = h + BL(down, RMS(relu(g)^2 * u)), g and u = BL(gate | up, RMS(h)).
  void feed_forward(size_t layer, const BlockWeights& b) {
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      norm_and_quantize(layer, kFfnIn, h(t), b.ffn_norm, dim(), t);
    watch_.lap(Operation::kNorms);
    position_barrier();
    products({Product{&b.gate, s_.gate.data(), s_.f_stride}, Product{&b.up, s_.up.data(), s_.f_stride}});
    for (size_t t = mine.begin; t < mine.end; ++t) {
      ops::relu_square_mul(k_, s_.gate.data() + t * s_.f_stride, s_.up.data() + t * s_.f_stride, cfg_.ffn_dim,
                           wide(t));
      norm_and_quantize(layer, kFfnDown, wide(t), b.ffn_sub_norm, cfg_.ffn_dim, t);
    }
    if (team_.index() == 0) stop_ = cancel_.load(std::memory_order_relaxed);
    watch_.lap(Operation::kNorms);
    position_barrier();
    products({Product{&b.down, s_.y_down.data(), s_.d_stride}});
    for (size_t t = mine.begin; t < mine.end; ++t) {
      ops::add(k_, h(t), s_.y_down.data() + t * s_.d_stride, dim(), h(t));
      if (trace_ != nullptr && trace_->block_out != nullptr)
        std::memcpy(trace_->block_out + (layer * trace_->stride + t) * dim(), h(t), dim() * sizeof(float));
    }
  }

  const kernels::Kernels& k_;
  const Config& cfg_;
  const Weights& w_;
  const std::atomic<bool>& cancel_;
  Positions& all_;
  size_t n_;
  Scratch& s_;
  Trace* trace_;  // of the worker that records a position; null for the others
  Team& team_;
  bool& stop_;
  Scratch::Worker& me_;
  Stream& x_;
  ops::TernaryRows rows_;
  float factor_;
  Stopwatch watch_;
};

}  // namespace

bool forward(const Pass& pass, const Network& network, std::span<Part> parts, Scratch& scratch,
             Trace* trace) {
  Positions positions(parts, network.config());
  if (positions.n == 0) return true;
  bool stop = false;
  pass.pool.run([&](Team& team) { Walk(pass, network, positions, scratch, trace, team, stop).run(); });
  if (stop) return false;
  positions.finish();
  return true;
}

}  // namespace spiked::bitnet
