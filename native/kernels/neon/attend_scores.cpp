#include <arm_neon.h>

#include "kernels/kernels.h"

namespace spiked::kernels::neon {
namespace {

/// Keys walked at once by n_heads queries: one chain of FMAs alone would wait for its latency, and more do not fit the registers.
template <size_t n_heads>
constexpr size_t kKeys = n_heads == 4 ? 2 : 4;

struct Eight {
  float32x4_t low, high;
};

/// Eight elements, f32 or f16, as f32.
Eight eight(const float* at) { return {vld1q_f32(at), vld1q_f32(at + 4)}; }
Eight eight(const uint16_t* at) {
  const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(at));
  return {vcvt_f32_f16(vget_low_f16(half)), vcvt_high_f32_f16(half)};
}
float one(float element) { return element; }
float one(uint16_t element) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(element))), 0);
}

/// p[h][i] = the eight partial sums of query h and key i over `whole` columns: a key is converted once for all queries.
template <typename T, size_t n_heads, size_t n_keys>
void multiply(const float* q, size_t head_dim, const T* const (&keys)[n_keys], size_t whole,
              Eight (&p)[n_heads][n_keys]) {
  for (auto& sums : p)
    for (Eight& sum : sums) sum.low = sum.high = vdupq_n_f32(0.0f);
  for (size_t c = 0; c < whole; c += 8) {
    Eight key[n_keys];
#pragma GCC unroll 4
    for (size_t i = 0; i < n_keys; ++i) key[i] = eight(keys[i] + c);
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h) {
      const float* query = q + h * head_dim + c;
      const float32x4_t low = vld1q_f32(query), high = vld1q_f32(query + 4);
#pragma GCC unroll 4
      for (size_t i = 0; i < n_keys; ++i) {
        p[h][i].low = vfmaq_f32(p[h][i].low, low, key[i].low);
        p[h][i].high = vfmaq_f32(p[h][i].high, high, key[i].high);
      }
    }
  }
}

/// The tree of docs/numerics.md over four times eight partial sums at once.
float32x4_t reduce(const Eight& p0, const Eight& p1, const Eight& p2, const Eight& p3) {
  const auto halves = [](const Eight& p) { return vaddq_f32(p.low, p.high); };
  const float32x4_t s0 = halves(p0), s1 = halves(p1), s2 = halves(p2), s3 = halves(p3);
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(s0, s1)),
                    b = vreinterpretq_f64_f32(vtrn2q_f32(s0, s1)),
                    c = vreinterpretq_f64_f32(vtrn1q_f32(s2, s3)),
                    d = vreinterpretq_f64_f32(vtrn2q_f32(s2, s3));
  const auto sum = [](float64x2_t x, float64x2_t y) {  // elements 0 and 2, or 1 and 3, of the four
    return vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(x, y)), vreinterpretq_f32_f64(vtrn2q_f64(x, y)));
  };
  return vaddq_f32(sum(a, c), sum(b, d));
}

/// Four keys of each query.
template <size_t n_heads>
void store(const Eight (&p)[n_heads][4], float factor, float* scores, size_t stride) {
  for (size_t h = 0; h < n_heads; ++h)
    vst1q_f32(scores + h * stride, vmulq_n_f32(reduce(p[h][0], p[h][1], p[h][2], p[h][3]), factor));
}
/// Two keys of each query.
template <size_t n_heads>
void store(const Eight (&p)[n_heads][2], float factor, float* scores, size_t stride) {
  for (size_t h = 0; h < n_heads; h += 2) {
    const float32x4_t pairs = vmulq_n_f32(reduce(p[h][0], p[h][1], p[h + 1][0], p[h + 1][1]), factor);
    vst1_f32(scores + h * stride, vget_low_f32(pairs));
    vst1_f32(scores + (h + 1) * stride, vget_high_f32(pairs));
  }
}

/// One key's sum with the columns that fill no vector; p: its partial sums, eight floats.
template <typename T>
float finish(float* p, const float* q, const T* key, size_t whole, size_t head_dim) {
  for (size_t c = whole; c < head_dim; ++c) p[c - whole] = __builtin_fmaf(q[c], one(key[c]), p[c - whole]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

template <size_t n_heads, typename T>
void attend_heads(const float* q, const T* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
                  size_t head_dim, float factor, float* scores) {
  const size_t whole = head_dim / 8 * 8;
  const auto run = [&]<size_t n>(size_t first) {
    const T* keys[n];
    for (size_t i = 0; i < n; ++i) keys[i] = k + slots[first + i] * k_stride;
    Eight p[n_heads][n];
    multiply(q, head_dim, keys, whole, p);
    if constexpr (n > 1) {
      if (whole == head_dim) return store(p, factor, scores + first, n_keys);
    }
    float partial[n_heads][n][8];
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h)
#pragma GCC unroll 4
      for (size_t i = 0; i < n; ++i) {
        vst1q_f32(partial[h][i], p[h][i].low);
        vst1q_f32(partial[h][i] + 4, p[h][i].high);
      }
    for (size_t h = 0; h < n_heads; ++h)
      for (size_t i = 0; i < n; ++i)
        scores[h * n_keys + first + i] =
            finish(partial[h][i], q + h * head_dim, keys[i], whole, head_dim) * factor;
  };
  size_t i = 0;
  for (; i + kKeys<n_heads> <= n_keys; i += kKeys<n_heads>) run.template operator()<kKeys<n_heads>>(i);
  for (; i < n_keys; ++i) run.template operator()<1>(i);
}

template <typename T>
void attend(const float* q, size_t n_heads, const T* k, size_t k_stride, const uint32_t* slots, size_t n_keys,
            size_t head_dim, float factor, float* scores) {
  const auto run = [&](auto heads, size_t h) {
    heads(q + h * head_dim, k, k_stride, slots, n_keys, head_dim, factor, scores + h * n_keys);
  };
  size_t h = 0;
  for (; h + 4 <= n_heads; h += 4) run(attend_heads<4, T>, h);
  for (; h + 2 <= n_heads; h += 2) run(attend_heads<2, T>, h);
  if (h < n_heads) run(attend_heads<1, T>, h);
}

}  // namespace

void attend_scores(const float* q, size_t n_heads, const float* k, size_t k_stride, const uint32_t* slots,
                   size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, n_heads, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

void attend_scores_f16(const float* q, size_t n_heads, const uint16_t* k, size_t k_stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores) {
  attend(q, n_heads, k, k_stride, slots, n_keys, head_dim, factor, scores);
}

}  // namespace spiked::kernels::neon
