// The paper's symbols and ours: E embedding, m membrane, s spikes (lists of active inputs), c residual stream, W_tcam tcam, h decay,
// beta sigmoid(decay_raw), g gate, u mixed heads, z FFN pre-activation, theta threshold, lambda leak, W window, G n_anchors.
#include "models/symboliclight/forward.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/math.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/spike.h"
#include "threads/partition.h"

namespace spiked::symboliclight {
namespace {

/// Active columns that a worker takes at once: each call begins with fetches that nothing has asked for ahead.
constexpr size_t kMostColumns = 1024, kLeastColumns = 64;

/// The positions of a pass, part after part.
struct Positions {
  explicit Positions(std::span<Part> parts) {
    for (Part& part : parts) {
      part.activity = {};
      if (part.each != nullptr) std::fill_n(part.each, part.n, Activity{});
      if (part.revocable) static_cast<State*>(part.sequence)->begin_trail(part.n);
      for (size_t i = 0; i < part.n; ++i, ++n) {
        nth[n] = part.revocable ? i + 1 : 0;
        id[n] = part.ids[i];
        at[n] = part.sequence->position + i;
        state[n] = static_cast<State*>(part.sequence);
        activity[n] = part.each == nullptr ? &part.activity : &part.each[i];
      }
    }
  }

  size_t n = 0;
  int32_t id[kMaxBatch];
  size_t at[kMaxBatch];  // in its sequence
  State* state[kMaxBatch];
  size_t nth[kMaxBatch];  // entry of the trail that this position writes; 0: none
  Activity* activity[kMaxBatch];
};

/// One worker's walk through the model; all workers walk together and meet at barriers.
///
/// What a position needs as a whole (norms, thresholds) is shared out by position. In a pass of one position every worker does it for
/// itself, on its own copy of the stream: the same operations give the same bits, and three of a layer's eight barriers go.
class Walk {
 public:
  Walk(const Pass& p, const Network& network, const Positions& positions, Scratch& s, Trace* trace,
       Team& team, bool& stop)
      : k_(p.kernels),
        cfg_(network.config()),
        w_(network.weights()),
        cancel_(p.cancel),
        quantized_(p.activations != ops::Activations::kF32),
        all_(positions),
        n_(positions.n),
        s_(s),
        trace_(team.index() == 0 || positions.n > 1 ? trace : nullptr),
        given_(trace == nullptr ? SpikeBytes<const uint8_t>() : trace->given),
        stride_(trace == nullptr ? 0 : trace->stride),
        team_(team),
        stop_(stop),
        me_(s.workers[team.index()]),
        stream_(positions.n == 1 && team.index() != 0 ? me_.own : s.stream),
        rows_{p.activations, me_.q8.data(), me_.q16.data(), me_.q_scale, s.d_stride},
        factor_(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(cfg_.head_dim)))),
        watch_(team.index() == 0 ? p.profile : nullptr) {}

  void run() {
    me_.margin_encoder = me_.margin_mixer = me_.margin_ffn = std::numeric_limits<float>::infinity();
    encode();
    for (size_t layer = 0; layer < cfg_.n_layers; ++layer) {
      if (stop_) return;  // written before the last barrier, so all workers agree
      const BlockWeights& b = w_.blocks[layer];
      if (team_.index() == 0) count_spikes(layer);
      mix(layer, b);
      feed_forward(layer, b);
    }
  }

 private:
  float* row(AlignedArray<float>& m, size_t t) const { return m.data() + t * s_.d_stride; }
  float* c(size_t t) const { return row(stream_.c, t); }
  uint32_t* spikes(size_t t) const { return stream_.spikes.data() + t * s_.d_stride; }
  uint32_t* fired(size_t t) const { return stream_.fired.data() + t * s_.f_stride; }
  size_t dim() const { return cfg_.embed_dim; }
  State& state(size_t t) const { return *all_.state[t]; }

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

  // x = LN(E[token]); the membrane integrates, fires and resets in position order; c0 = x.
  void encode() {
    const Range mine = shared_positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      ops::layer_norm(k_, w_.embedding + static_cast<size_t>(all_.id[t]) * dim(), w_.encoder_norm, dim(),
                      row(s_.stream.c, t));
    position_barrier();
    if (team_.index() == 0) {
      for (size_t t = 0; t < n_; ++t) {
        if (trace_ != nullptr)
          me_.margin_encoder = ops::membrane_margin(state(t).membrane.data(), c(t), dim(), cfg_.leak,
                                                    cfg_.threshold, me_.margin_encoder);
        stream_.n_spikes[t] = fire_membrane(t);
        if (all_.nth[t] != 0)
          std::memcpy(state(t).trail_membrane(all_.nth[t]), state(t).membrane.data(), dim() * sizeof(float));
        if (trace_ != nullptr && trace_->active_encoder != nullptr)
          trace_->active_encoder[t] = static_cast<int32_t>(stream_.n_spikes[t]);
      }
      stop_ = cancel_.load(std::memory_order_relaxed);
    }
    watch_.lap(Operation::kEncode);
    barrier();
    if (&stream_ == &s_.stream) return;
    std::memcpy(c(0), s_.stream.c.data(), dim() * sizeof(float));
    stream_.n_spikes[0] = s_.stream.n_spikes[0];
    std::memcpy(spikes(0), s_.stream.spikes.data(), stream_.n_spikes[0] * sizeof(uint32_t));
  }

  size_t fire_membrane(size_t t) {
    float *m = state(t).membrane.data(), *x = c(t);
    if (trace_ != nullptr && trace_->spikes.encoder != nullptr)
      ops::membrane_record(m, x, dim(), cfg_.leak, cfg_.threshold, trace_->spikes.encoder + t * dim());
    if (given_.encoder != nullptr)
      return ops::membrane_step_given(m, x, dim(), cfg_.leak, cfg_.threshold, given_.encoder + t * dim(),
                                      spikes(t));
    return ops::membrane_step(k_, m, x, dim(), cfg_.leak, cfg_.threshold, spikes(t));
  }

  // Position t's threshold test of one layer; recorded and given are arrays of these neurons, [L, stride, n].
  size_t fire(size_t layer, size_t t, const float* z, size_t n, uint32_t* active, uint8_t* recorded,
              const uint8_t* given) {
    const size_t at = stride_ == 0 ? 0 : (layer * stride_ + t) * n;
    if (recorded != nullptr) ops::record(z, n, cfg_.threshold, recorded + at);
    if (given != nullptr) return ops::fire_given(z, n, cfg_.threshold, given + at, active);
    return ops::fire(k_, z, n, cfg_.threshold, active);
  }

  void note_dense_input(size_t layer, size_t which, AlignedArray<float>& x) {
    if (trace_ == nullptr || trace_->dense_inputs == nullptr) return;
    const Range mine = shared_positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      std::memcpy(trace_->dense_inputs + ((layer * 3 + which) * trace_->stride + t) * dim(), row(x, t),
                  dim() * sizeof(float));
  }

  void count_spikes(size_t layer) {
    for (size_t t = 0; t < n_; ++t) {
      Activity& activity = *all_.activity[t];
      activity.mixer_active += stream_.n_spikes[t];
      activity.mixer_total += dim();
      if (trace_ != nullptr && trace_->active_mixer != nullptr)
        trace_->active_mixer[layer * trace_->stride + t] = static_cast<int32_t>(stream_.n_spikes[t]);
      if (cfg_.sparse_attn) state(t).kv.mark(layer, all_.at[t], stream_.n_spikes[t] != 0);
    }
  }

  bool any_spike() const {
    for (size_t t = 0; t < n_; ++t)
      if (stream_.n_spikes[t] != 0) return true;
    return false;
  }

  // This worker's share of the rows of w, in units of w.row_unit().
  Range units(const Matrix& w) const { return share(w.n_row_units(), 1, team_.index(), team_.size()); }

  // Shares out n units of rows of a dense product by w.
  template <typename F>
  void split_units(const Matrix& w, size_t n, F&& body) {
    const ops::Runs runs = ops::runs(w);
    team_.split(n, runs.least, runs.most, body);
  }

  // The input of the dense products that follow, as they take it.
  void prepare(AlignedArray<float>& x) {
    if (quantized_) ops::quantize(k_, x.data(), s_.d_stride, n_, dim(), rows_);
  }

  // y = W x over these units of rows; x has been prepared.
  void linear(const Matrix& w, const Range& units, AlignedArray<float>& x, AlignedArray<float>& y,
              size_t y_stride) {
    if (quantized_)
      ops::linear(k_, w, rows_, n_, units.begin, units.end, y.data(), y_stride);
    else
      ops::linear(k_, w, x.data(), s_.d_stride, n_, units.begin, units.end, y.data(), y_stride);
  }

  // The same over all rows, shared out.
  void linear(const Matrix& w, AlignedArray<float>& x, AlignedArray<float>& y, size_t y_stride) {
    split_units(w, w.n_row_units(), [&](const Range& units) { linear(w, units, x, y, y_stride); });
  }

  // q, k and v of the stream, their rows shared out as those of one matrix.
  void project(const BlockWeights& b) {
    const std::pair<const Matrix*, AlignedArray<float>*> parts[] = {
        {&b.q, &s_.q}, {&b.k, &s_.k}, {&b.v, &s_.v}};
    const size_t each = b.q.n_row_units();
    split_units(b.q, 3 * each, [&](const Range& units) {
      for (size_t i = 0; i < 3; ++i) {
        const Range of_part{std::max(units.begin, i * each), std::min(units.end, (i + 1) * each)};
        if (of_part.begin < of_part.end)
          linear(*parts[i].first, {of_part.begin - i * each, of_part.end - i * each}, stream_.c,
                 *parts[i].second, s_.d_stride);
      }
    });
  }

  // Whether the workers share out the active columns of w instead of its rows: whole columns are longer runs of memory, but what the
  // workers summed must be put together, which only pays for one position.
  bool by_columns(const Matrix& w) const { return n_ == 1 && team_.size() > 1 && ops::exact_sums(w); }

  // y = W s over this worker's rows, for the binary inputs s of each position; or this worker's columns of it, into its part.
  void spike_sums(const Matrix& w, const AlignedArray<uint32_t>& active, size_t active_stride,
                  const size_t* n_active, AlignedArray<int32_t>& parts, AlignedArray<float>& y) {
    if (by_columns(w)) {
      sum_columns(w, active.data(), n_active[0], parts.data() + team_.index() * s_.d_stride);
    } else {
      const Range rows = units(w);
      for (size_t t = 0; t < n_; ++t)
        ops::spike_sum(k_, w, active.data() + t * active_stride, n_active[t], rows.begin, rows.end,
                       {me_.sums.data(), me_.ones.data()}, row(y, t));
    }
    watch_.lap(Operation::kColumnSums);
  }

  // What this worker takes of the active columns, summed.
  void sum_columns(const Matrix& w, const uint32_t* active, size_t n_active, int32_t* sums) {
    bool first = true;
    team_.split(n_active, kLeastColumns, kMostColumns, [&](const Range& columns) {
      int32_t* to = first ? sums : me_.sums.data();
      ops::column_sums(k_, w, active + columns.begin, columns.end - columns.begin, to);
      if (!first)
        for (size_t i = 0; i < w.packed.rows; ++i) sums[i] += to[i];
      first = false;
    });
    if (first) std::fill(sums, sums + w.packed.rows, 0);
  }

  // Rows [begin, end) of position t's y = W s, from the workers' parts where they shared out the columns.
  const float* summed(const Matrix& w, const AlignedArray<int32_t>& parts, AlignedArray<float>& y, size_t t,
                      size_t begin, size_t end) {
    if (!by_columns(w)) return row(y, t);
    ops::scale_sums(k_, w, parts.data(), s_.d_stride, team_.size(), begin, end, me_.scaled.data());
    return me_.scaled.data();
  }

  // c = LN(c + y) of position t.
  void add_norm(size_t t, const float* y, const ops::NormWeights& norm) {
    ops::add_norm(k_, c(t), y, norm, dim(), me_.sum.data());
  }

  // a = W_tcam s; h = beta h + (1 - beta) a; attention over the continuous stream; u = g attn + (1 - g) h; c' = LN(c + W_out u).
  void mix(size_t layer, const BlockWeights& b) {
    spike_sums(b.tcam, stream_.spikes, s_.d_stride, stream_.n_spikes, s_.mixer_parts, s_.a);
    // A position without spikes neither attends nor is attended to: without any, q, k and v are not needed.
    const bool attend = cfg_.sparse_attn && any_spike();
    if (cfg_.sparse_attn && b.own_angles) angles(b.inv_freq);
    note_dense_input(layer, 0, stream_.c);
    if (attend) {
      prepare(stream_.c);
      project(b);
    }
    watch_.lap(Operation::kProjections);
    barrier();
    if (attend) find_keys(layer);
    team_.split(cfg_.n_heads, 1, 1, [&](const Range& heads) {
      for (size_t h = heads.begin; h < heads.end; ++h) head(layer, b, h, attend);
    });
    watch_.lap(Operation::kAttention);
    barrier();
    note_dense_input(layer, 1, s_.u);
    prepare(s_.u);
    linear(b.out, s_.u, s_.q, s_.d_stride);
    watch_.lap(Operation::kProjections);
    barrier();
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t) add_norm(t, row(s_.q, t), b.tcam_norm);
    watch_.lap(Operation::kNorms);
    position_barrier();
  }

  void angles(const float* inv_freq) {
    const size_t half = cfg_.head_dim / 2;
    const Range mine = shared_positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      ops::rope_angles(inv_freq, half, all_.at[t], s_.cos.data() + t * half, s_.sin.data() + t * half);
  }

  void find_keys(size_t layer) {
    size_t most = 0;
    for (size_t t = 0; t < n_; ++t) {
      me_.n_keys[t] = 0;
      if (stream_.n_spikes[t] != 0)
        me_.n_keys[t] = state(t).kv.visible(layer, all_.at[t], key_rows(t));  // at least its own
      most = std::max(most, me_.n_keys[t]);
      const bool last = t + 1 == n_ || all_.state[t + 1] != all_.state[t];
      if (!last) continue;
      if (team_.index() == 0) all_.activity[t]->keys_read += most;
      most = 0;
    }
  }
  uint32_t* key_rows(size_t t) { return me_.key_rows.data() + t * me_.scores.size(); }

  // One head over all positions of the pass, in order; its keys and values are read by this worker only.
  void head(size_t layer, const BlockWeights& b, size_t h, bool attend) {
    const size_t d = cfg_.head_dim, half = d / 2, at = h * d;
    const float beta = math::sigmoid_f32(b.decay_raw[h]);
    for (size_t t = 0; t < n_; ++t) {
      float* decay = state(t).decay.data() + layer * dim() + at;
      ops::decay_step(k_, decay, summed(b.tcam, s_.mixer_parts, s_.a, t, at, at + d) + at, beta, d);
      if (all_.nth[t] != 0)
        std::memcpy(state(t).trail_decay(all_.nth[t]) + layer * dim() + at, decay, d * sizeof(float));
      float* u = row(s_.u, t) + at;
      if (!cfg_.sparse_attn) {
        for (size_t i = 0; i < d; ++i) u[i] = decay[i];
        continue;
      }
      for (size_t i = 0; i < d; ++i) u[i] = 0.0f;
      if (attend && stream_.n_spikes[t] != 0) {
        KvWindow& kv = state(t).kv;
        const float *cos = s_.cos.data() + t * half, *sin = s_.sin.data() + t * half;
        float *keys = kv.keys(layer, h), *values = kv.values(layer, h), *q = row(s_.q, t) + at;
        const size_t own = kv.row(all_.at[t]) * kv.stride();
        float *key = keys + own, *value = values + own;
        for (size_t i = 0; i < d; ++i) key[i] = row(s_.k, t)[at + i];
        for (size_t i = 0; i < d; ++i) value[i] = row(s_.v, t)[at + i];
        ops::rope(k_, q, cos, sin, half);
        ops::rope(k_, key, cos, sin, half);
        ops::attend(k_, q, 1, {keys, values, kv.stride()}, key_rows(t), me_.n_keys[t], d, factor_,
                    me_.scores.data(), u);
      }
      ops::mix(k_, b.gate, u, decay, d, u);
    }
  }

  // z = W_up c'; f = [z >= theta]; c'' = LN(c' + W_down f); the next block's spikes are [c'' >= theta].
  void feed_forward(size_t layer, const BlockWeights& b) {
    note_dense_input(layer, 2, stream_.c);
    prepare(stream_.c);
    linear(b.up, stream_.c, s_.z, s_.f_stride);
    watch_.lap(Operation::kProjections);
    barrier();
    fire_ffn(layer);
    position_barrier();
    if (team_.index() == 0) {
      for (size_t t = 0; t < n_; ++t) {
        all_.activity[t]->ffn_active += stream_.n_fired[t];
        all_.activity[t]->ffn_total += cfg_.ffn_dim;
      }
      stop_ = cancel_.load(std::memory_order_relaxed);
    }
    // Into u: it was last read before two barriers, and is not written before the next one, so that no worker need wait for the
    // others to have read these sums.
    spike_sums(b.down, stream_.fired, s_.f_stride, stream_.n_fired, s_.down_parts, s_.u);
    barrier();
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t)
      add_norm(t, summed(b.down, s_.down_parts, s_.u, t, 0, dim()), b.ffn_norm);
    watch_.lap(Operation::kNorms);
    fire_block(layer);
    position_barrier();
  }

  void fire_ffn(size_t layer) {
    uint8_t* recorded = trace_ == nullptr ? nullptr : trace_->spikes.ffn;
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t) {
      const float* z = s_.z.data() + t * s_.f_stride;
      stream_.n_fired[t] = fire(layer, t, z, cfg_.ffn_dim, fired(t), recorded, given_.ffn);
      if (trace_ == nullptr) continue;
      me_.margin_ffn = ops::margin(z, cfg_.ffn_dim, cfg_.threshold, me_.margin_ffn);
      if (trace_->active_ffn != nullptr)
        trace_->active_ffn[layer * trace_->stride + t] = static_cast<int32_t>(stream_.n_fired[t]);
    }
    watch_.lap(Operation::kThresholds);
  }

  void fire_block(size_t layer) {
    uint8_t* recorded = trace_ == nullptr ? nullptr : trace_->spikes.block;
    const Range mine = positions();
    for (size_t t = mine.begin; t < mine.end; ++t) {
      stream_.n_spikes[t] = fire(layer, t, c(t), dim(), spikes(t), recorded, given_.block);
      if (trace_ == nullptr) continue;
      if (layer + 1 < cfg_.n_layers)
        me_.margin_mixer = ops::margin(c(t), dim(), cfg_.threshold, me_.margin_mixer);
      if (trace_->block_out != nullptr)
        std::memcpy(trace_->block_out + (layer * trace_->stride + t) * dim(), c(t), dim() * sizeof(float));
    }
    watch_.lap(Operation::kThresholds);
  }

  const kernels::Kernels& k_;
  const Config& cfg_;
  const Weights& w_;
  const std::atomic<bool>& cancel_;
  bool quantized_;
  const Positions& all_;
  size_t n_;
  Scratch& s_;
  Trace* trace_;  // of the worker that records a position; null for the others
  SpikeBytes<const uint8_t> given_;
  size_t stride_;  // of the trace
  Team& team_;
  bool& stop_;
  Scratch::Worker& me_;
  Stream& stream_;
  ops::QuantizedRows rows_;
  float factor_;
  Stopwatch watch_;
};

float smaller(float a, float b) { return b < a ? b : a; }

Activity sum(const Activity* each, size_t n) {
  Activity out;
  for (size_t i = 0; i < n; ++i) {
    out.mixer_active += each[i].mixer_active;
    out.ffn_active += each[i].ffn_active;
    out.mixer_total += each[i].mixer_total;
    out.ffn_total += each[i].ffn_total;
    out.keys_read += each[i].keys_read;
  }
  return out;
}

}  // namespace

bool forward(const Pass& pass, const Network& network, std::span<Part> parts, Scratch& scratch,
             Trace* trace) {
  const Positions positions(parts);
  bool stop = false;
  pass.pool.run([&](Team& team) { Walk(pass, network, positions, scratch, trace, team, stop).run(); });
  if (stop) return false;
  for (Part& part : parts) {
    part.sequence->position += part.n;
    if (part.each != nullptr) part.activity = sum(part.each, part.n);
  }
  if (trace != nullptr) {
    for (const Scratch::Worker& w : scratch.workers) {
      trace->margin_encoder = smaller(trace->margin_encoder, w.margin_encoder);
      trace->margin_mixer = smaller(trace->margin_mixer, w.margin_mixer);
      trace->margin_ffn = smaller(trace->margin_ffn, w.margin_ffn);
    }
  }
  return true;
}

}  // namespace spiked::symboliclight
