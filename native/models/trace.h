#pragma once
#include <cstddef>
#include <cstdint>

namespace spiked {

/// One value for every threshold of n positions. As decisions (uint8_t): 0 silent, 1 fired; where they are given to a pass,
/// ops::kFree leaves a decision to it. Any pointer may be null. Layer rows may be longer than n positions (Trace::stride).
template <typename T>
struct SpikeBytes {
  T* encoder = nullptr;  ///< [n, D]
  T* ffn = nullptr;      ///< [L, n, F]
  T* block = nullptr;    ///< [L, n, D] after each block: the next one's input; the last layer's feed nothing

  /// The same arrays, beginning `at` positions further on.
  SpikeBytes moved(size_t at, size_t dim, size_t ffn_dim) const {
    const auto on = [at](T* p, size_t width) { return p == nullptr ? p : p + at * width; };
    return {on(encoder, dim), on(ffn, ffn_dim), on(block, dim)};
  }
};

/// What the quantiser of a ternary model made of n positions. Any pointer may be null.
struct TernaryCodes {
  int8_t* attn_in = nullptr;   ///< [L, n, D] into q, k and v
  int8_t* attn_out = nullptr;  ///< [L, n, n_heads * head_dim] into attn_output
  int8_t* ffn_in = nullptr;    ///< [L, n, D] into gate and up
  int8_t* ffn_down = nullptr;  ///< [L, n, F] into down
  float* absmax = nullptr;     ///< [L, 4, n] largest magnitude of those four rows, before any floor

  /// The same arrays, beginning `at` positions further on.
  TernaryCodes moved(size_t at, size_t dim, size_t attn_dim, size_t ffn_dim) const {
    const auto on = [at](int8_t* p, size_t width) { return p == nullptr ? p : p + at * width; };
    return {on(attn_in, dim), on(attn_out, attn_dim), on(ffn_in, dim), on(ffn_down, ffn_dim),
            absmax == nullptr ? absmax : absmax + at};
  }
};

/// What a checking caller records of one pass; every pointer may be null. Rows of later passes are appended by the caller moving the
/// pointers (moved). Which of them a family can fill: Network::check_trace.
struct Trace {
  float* block_out = nullptr;  ///< [L, stride, D]
  size_t stride = 0;           ///< positions a layer row

  // Spiking models.
  int32_t* active_encoder = nullptr;  ///< [n]
  int32_t* active_mixer = nullptr;    ///< [L, stride]
  int32_t* active_ffn = nullptr;      ///< [L, stride]
  SpikeBytes<uint8_t> spikes;         ///< what every threshold said, given decisions or not
  SpikeBytes<const uint8_t> given;    ///< decisions used in place of the pass's own
  float* dense_inputs = nullptr;      ///< [L, 3, stride, D] into q/k/v, out and up, not quantised
  float margin_encoder, margin_mixer, margin_ffn;  ///< smallest |z - threshold|

  // Ternary models.
  TernaryCodes codes;
  float* final_norm = nullptr;  ///< [n, D] what the head reads

  Trace moved(size_t at, size_t dim, size_t attn_dim, size_t ffn_dim) const {
    Trace out = *this;
    if (out.block_out != nullptr) out.block_out += at * dim;
    if (out.active_encoder != nullptr) out.active_encoder += at;
    if (out.active_mixer != nullptr) out.active_mixer += at;
    if (out.active_ffn != nullptr) out.active_ffn += at;
    if (out.dense_inputs != nullptr) out.dense_inputs += at * dim;
    out.spikes = spikes.moved(at, dim, ffn_dim);
    out.given = given.moved(at, dim, ffn_dim);
    out.codes = codes.moved(at, dim, attn_dim, ffn_dim);
    if (out.final_norm != nullptr) out.final_norm += at * dim;
    return out;
  }
};

}  // namespace spiked
