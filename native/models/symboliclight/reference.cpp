// Symbols as in forward.cpp; every array holds all positions at once, rows of exactly D or F values.
#include "models/symboliclight/reference.h"

#include <algorithm>

#include "models/symboliclight/reference_attention.h"
#include "models/symboliclight/reference_math.h"
#include "ops/spike.h"

namespace spiked::symboliclight {
namespace {

/// The threshold test of one neuron at one position: `at` is its place in the arrays. Returns the decision that counts.
bool decide(double z, double threshold, size_t at, const uint8_t* given, uint8_t* own, double* margin) {
  const bool fired = z >= threshold;
  if (own != nullptr) own[at] = fired ? 1 : 0;
  if (margin != nullptr) margin[at] = z - threshold;
  if (given == nullptr || given[at] == ops::kFree) return fired;
  return given[at] != 0;
}

class Walk {
 public:
  Walk(const ReferenceInput& in, const ReferenceOutput& out)
      : in_(in),
        out_(out),
        cfg_(in.config),
        n_(in.n),
        d_(in.config.embed_dim),
        f_(in.config.ffn_dim),
        theta_(static_cast<double>(in.config.threshold)),
        c_(n_ * d_),
        u_(n_ * d_),
        x_(n_ * d_),
        y_(n_ * d_),
        z_(n_ * f_),
        s_(n_ * d_),
        fired_(n_ * f_) {}

  bool run() {
    encode();
    for (size_t layer = 0; layer < cfg_.n_layers; ++layer) {
      if (cancelled()) return false;
      mix(layer, in_.weights.blocks[layer]);
      feed_forward(layer, in_.weights.blocks[layer]);
    }
    if (out_.logits != nullptr && !cancelled()) head(in_.weights.head);
    return !cancelled();
  }

 private:
  bool cancelled() const { return in_.cancel.load(std::memory_order_relaxed); }

  void encode() {
    f64::each(in_.pool, n_, [&](size_t t) {
      const float* e = in_.weights.embedding + static_cast<size_t>(in_.ids[t]) * d_;
      std::copy(e, e + d_, row(c_, t));
      f64::layer_norm(row(c_, t), in_.weights.encoder_norm, d_, row(c_, t));
    });
    const double leak = static_cast<double>(cfg_.leak);
    f64::each(in_.pool, d_, [&](size_t i) {
      double m = 0;
      for (size_t t = 0; t < n_; ++t) {
        const size_t at = t * d_ + i;
        m = std::clamp(leak * m + c_[at], -3.0, 3.0);
        s_[at] = decide(m, theta_, at, in_.given.encoder, out_.spikes.encoder, out_.margins.encoder) ? 1 : 0;
        if (s_[at] != 0) m = 0;
      }
    });
  }

  void mix(size_t layer, const BlockWeights& b) {
    f64::binary_product(in_.pool, b.tcam, s_.data(), n_, y_.data());
    f64::each(in_.pool, d_, [&](size_t i) {
      const double beta = f64::sigmoid(static_cast<double>(b.decay_raw[i / cfg_.head_dim]));
      double h = 0;
      for (size_t t = 0; t < n_; ++t) u_[t * d_ + i] = h = beta * h + (1 - beta) * y_[t * d_ + i];
    });
    if (cfg_.sparse_attn) {
      const std::vector<double> attended =
          f64::attend(in_.pool, cfg_, b, dense_input(layer, 0, c_), s_.data(), n_);
      const double gate = f64::sigmoid(static_cast<double>(*b.gate_raw));
      f64::each(in_.pool, n_ * d_, [&](size_t i) { u_[i] = gate * attended[i] + (1 - gate) * u_[i]; });
    }
    f64::product(in_.pool, b.out, dense_input(layer, 1, u_), n_, y_.data());
    add_norm(b.tcam_norm);
  }

  void feed_forward(size_t layer, const BlockWeights& b) {
    f64::product(in_.pool, b.up, dense_input(layer, 2, c_), n_, z_.data());
    f64::each(in_.pool, n_ * f_, [&](size_t i) {
      const size_t at = layer * n_ * f_ + i;
      fired_[i] = decide(z_[i], theta_, at, in_.given.ffn, out_.spikes.ffn, out_.margins.ffn) ? 1 : 0;
    });
    f64::binary_product(in_.pool, b.down, fired_.data(), n_, y_.data());
    add_norm(b.ffn_norm);
    f64::each(in_.pool, n_ * d_, [&](size_t i) {
      const size_t at = layer * n_ * d_ + i;
      s_[i] = decide(c_[i], theta_, at, in_.given.block, out_.spikes.block, out_.margins.block) ? 1 : 0;
    });
  }

  // logits = W_o c + p * prior
  void head(const HeadWeights& w) {
    f64::product(in_.pool, w.output, c_.data(), n_, out_.logits);
    const size_t v = w.output.rows;
    const double p = static_cast<double>(w.prior_weight);
    if (w.log_prior != nullptr) {
      f64::each(in_.pool, n_ * v,
                [&](size_t i) { out_.logits[i] += p * static_cast<double>(w.log_prior[i % v]); });
      return;
    }
    std::vector<double> hidden(n_ * w.prior_in.rows), branch(n_ * v);
    f64::product(in_.pool, w.prior_in, c_.data(), n_, hidden.data());
    f64::each(in_.pool, hidden.size(), [&](size_t i) { hidden[i] = f64::gelu(hidden[i]); });
    f64::product(in_.pool, w.prior_out, hidden.data(), n_, branch.data());
    f64::each(in_.pool, branch.size(), [&](size_t i) { out_.logits[i] += p * branch[i]; });
  }

  // c = LN(c + y)
  void add_norm(const ops::NormWeights& norm) {
    f64::each(in_.pool, n_, [&](size_t t) {
      double *c = row(c_, t), *y = row(y_, t);
      for (size_t i = 0; i < d_; ++i) c[i] += y[i];
      f64::layer_norm(c, norm, d_, c);
    });
  }

  // What a dense product takes: x itself, or the engine's own input of it, quantised.
  const double* dense_input(size_t layer, size_t which, const std::vector<double>& x) {
    if (in_.activations == ops::Activations::kF32) return x.data();
    const float largest = in_.activations == ops::Activations::kI8 ? 127.0f : 32639.0f;
    const float* recorded = in_.dense_inputs + (layer * 3 + which) * n_ * d_;
    f64::each(in_.pool, n_, [&](size_t t) { f64::quantised(recorded + t * d_, d_, largest, row(x_, t)); });
    return x_.data();
  }

  double* row(std::vector<double>& m, size_t t) const { return m.data() + t * d_; }

  const ReferenceInput& in_;
  const ReferenceOutput& out_;
  const Config& cfg_;
  size_t n_, d_, f_;
  double theta_;
  std::vector<double> c_, u_, x_, y_,
      z_;  // residual stream, mixed heads, quantised inputs, sums; FFN pre-activations
  std::vector<uint8_t> s_, fired_;  // [n, D], [n, F]: the decisions that count
};

}  // namespace

bool reference(const ReferenceInput& in, const ReferenceOutput& out) { return Walk(in, out).run(); }

}  // namespace spiked::symboliclight
