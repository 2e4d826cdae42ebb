#pragma once
#include <vector>

#include "base/aligned.h"
#include "models/symboliclight/config.h"
#include "state/kv_window.h"

namespace spiked::symboliclight {

/// Most positions that one pass computes together.
inline constexpr size_t kMaxBatch = 32;

/// What one sequence carries from token to token. Every value starts at 0.
struct State {
  explicit State(const Config& c);

  size_t position = 0;           ///< ids fed
  AlignedArray<float> membrane;  ///< [D] encoder
  AlignedArray<float> decay;     ///< [L, D]
  KvWindow kv;                   ///< empty without sparse attention

  /// Back to the start; the memory stays.
  void clear();
  /// Becomes what `from`, a state of the same model, is.
  void copy(const State& from);
  size_t size_bytes() const;
  /// Of a state of this configuration, before there is one.
  static size_t size_bytes(const Config& c);
};

/// What a state gained by the last n ids that it was fed, n <= kMaxBatch: their keys and values, and the rest of it as it then was.
class StateGain {
 public:
  StateGain() = default;
  StateGain(const State& state, size_t n);

  /// Makes a state that stands where those ids were fed what the one after them was.
  void add_to(State& state) const;
  static size_t size_bytes(const State& state, size_t n);

 private:
  size_t n_ = 0;
  std::vector<float> values_;    // membrane, decay, then what the window's take() gives
  std::vector<uint8_t> spiked_;  // the window's marks
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
struct Scratch {
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

  size_t size_bytes() const;
};

}  // namespace spiked::symboliclight
