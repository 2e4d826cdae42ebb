#pragma once
#include <vector>

#include "base/aligned.h"
#include "models/network.h"
#include "models/symboliclight/config.h"
#include "state/kv_window.h"

namespace spiked::symboliclight {

/// What one sequence carries from token to token. Every value starts at 0.
struct State final : Sequence {
  explicit State(const Config& c);

  AlignedArray<float> membrane;  ///< [D] encoder
  AlignedArray<float> decay;     ///< [L, D]
  KvWindow kv;                   ///< empty without sparse attention

  /// Makes room to remember membrane and decay before and after each of n ids, which a pass will be told to write.
  void begin_trail(size_t n);
  /// Where the membrane and the decay state go once i ids of that pass were fed; entry 0 is what they were before.
  float* trail_membrane(size_t i) { return trail_.data() + i * trail_entry(); }
  float* trail_decay(size_t i) { return trail_membrane(i) + membrane.size(); }

  void clear() override;
  void copy(const Sequence& from) override;
  size_t size_bytes() const override;
  std::unique_ptr<const Gain> gain(size_t n) const override;
  size_t gain_bytes(size_t n) const override;
  void add(const Gain& gain) override;
  void take_back(size_t n) override;
  /// Of a state of this configuration, before there is one.
  static size_t size_bytes(const Config& c);

 private:
  size_t trail_entry() const { return membrane.size() + decay.size(); }

  AlignedArray<float> trail_;  // [kMaxRevocable + 1, trail_entry()]; pages untouched until a draft
  size_t trail_ids_ = 0;       // fed by the last pass with a trail
};

/// What every worker reads of up to B positions: the residual stream and the spikes that it caused.
struct Stream {
  Stream() = default;
  Stream(size_t n_positions, size_t d_stride, size_t f_stride);

  AlignedArray<float> c;          ///< [B, D]
  AlignedArray<uint32_t> spikes;  ///< [B, D] active inputs of the mixer
  AlignedArray<uint32_t> fired;   ///< [B, F] active inputs of down
  size_t n_spikes[kMaxBatch] = {};
  size_t n_fired[kMaxBatch] = {};

  size_t size_bytes() const;
};

/// What a pass writes and nobody reads afterwards, except the stream (the hidden states).
struct Scratch final : spiked::Scratch {
  Scratch(const Config& c, unsigned n_workers);

  size_t d_stride, f_stride;    ///< floats a row, padded
  Stream stream;                ///< [B]
  AlignedArray<float> a;        ///< [B, D] mixer sums
  AlignedArray<float> q, k, v;  ///< [B, D]; q takes the products of out, too
  AlignedArray<float> u;        ///< [B, D] mixed heads, then the sums of down
  AlignedArray<float> z;        ///< [B, F]
  AlignedArray<int32_t> mixer_parts,
      down_parts;                ///< [workers, D] each worker's columns of a position's integer sums
  AlignedArray<float> cos, sin;  ///< [B, d/2]

  /// One worker's own.
  struct Worker {
    Stream own;                      ///< [1] this worker's copy where a pass has one position
    AlignedArray<float> sum;         ///< [D] a residual sum before its norm
    AlignedArray<float> scaled;      ///< [D] a position's integer sums, put together
    std::vector<uint32_t> key_rows;  ///< [B, visible] rows of the keys that each position sees
    size_t n_keys[kMaxBatch];
    std::vector<float> scores;  ///< [visible]
    AlignedArray<int8_t> q8;    ///< [B, D] the dense input, when activations are i8
    AlignedArray<int16_t> q16;  ///< [B, D] the same, when they are i16
    float q_scale[kMaxBatch];
    AlignedArray<int32_t> sums;  ///< [D] integer column sums
    AlignedArray<float> ones;    ///< [max(D, F)] a list of spikes as 0 and 1, where a layout plan needs it so
    float margin_encoder, margin_mixer, margin_ffn;
  };
  std::vector<Worker> workers;

  const float* hidden() const override { return stream.c.data(); }
  size_t hidden_stride() const override { return d_stride; }
  size_t size_bytes() const override;
};

}  // namespace spiked::symboliclight
