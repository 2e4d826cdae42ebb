#pragma once
#include <vector>

#include "base/aligned.h"
#include "models/bitnet/config.h"
#include "state/kv_window.h"

namespace spiked::bitnet {

/// What one sequence carries: the keys and values of every position.
struct State final : Sequence {
  explicit State(const Config& c);

  KvWindow kv;

  void clear() override;
  void copy(const Sequence& from) override;
  size_t size_bytes() const override { return kv.size_bytes(); }
  std::unique_ptr<const Gain> gain(size_t n) const override;
  size_t gain_bytes(size_t n) const override { return kv.taken_bytes(n) + kv.taken_marks(n); }
  void add(const Gain& gain) override;
  /// Later positions overwrite what is taken back.
  void take_back(size_t n) override { position -= n; }

  /// Of a state of this configuration, before there is one.
  static size_t size_bytes(const Config& c);
};

/// What every worker reads of up to B positions, or one worker's own copy of it where a pass has one position.
struct Stream {
  Stream() = default;
  Stream(const Config& c, size_t n_positions);

  size_t stride = 0;                      ///< of q: the widest input, padded
  AlignedArray<float> h;                  ///< [B, D] residual stream
  AlignedArray<float> wide;               ///< [B, max(D, A, F)] what is normed and quantised next
  AlignedArray<int8_t> q;                 ///< [B, stride] its codes
  std::vector<kernels::TernaryRow> rows;  ///< [B]
  std::vector<int32_t> sums;              ///< [B]

  size_t size_bytes() const;
};

/// What a pass writes and nobody reads afterwards, except the final hidden states.
struct Scratch final : spiked::Scratch {
  Scratch(const Config& c, unsigned n_workers);

  size_t d_stride, a_stride, kv_stride, f_stride;  ///< floats a row, padded
  Stream stream;                                   ///< [B]
  AlignedArray<float> q, k, v;                     ///< [B, A], [B, K], [B, K]
  AlignedArray<float> o;                           ///< [B, A] attended heads
  AlignedArray<float> y, y_down;                   ///< [B, D] what attn_output and down give
  AlignedArray<float> gate, up;                    ///< [B, F]
  AlignedArray<float> final_norm;                  ///< [B, D] what the head reads
  AlignedArray<float> cos, sin;                    ///< [B, d/2]
  std::vector<uint32_t> key_rows;                  ///< [B, context] rows of the keys that each position sees
  size_t n_keys[kMaxBatch];

  /// One worker's own.
  struct Worker {
    Stream own;                       ///< [1]
    std::vector<float> scores;        ///< [heads together, context]
    std::vector<float> y_scale;       ///< [B]
    std::vector<uint16_t> embedding;  ///< [D] a row read from the file
  };
  std::vector<Worker> workers;

  const float* hidden() const override { return final_norm.data(); }
  size_t hidden_stride() const override { return d_stride; }
  size_t size_bytes() const override;
};

}  // namespace spiked::bitnet
