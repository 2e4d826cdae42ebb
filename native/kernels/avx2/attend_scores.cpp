#include <immintrin.h>

#include "kernels/kernels.h"

namespace spiked::kernels::avx2 {
namespace {

/// Keys walked at once by n_heads queries: one chain of FMAs alone would wait for its latency, and more do not fit the registers.
template <size_t n_heads>
constexpr size_t kKeys = n_heads == 4 ? 2 : 4;
/// How far on lines are fetched into L2. In the blocks of KvWindow these are the values of the same positions, which come next; a
/// head's 16 keys or values are too short a run for the hardware alone (docs/experiments.md).
constexpr size_t kAheadBytes = 4096;
constexpr size_t kLineBytes = 64;

/// Eight elements, f32 or f16, as f32.
__m256 eight(const float* at) { return _mm256_loadu_ps(at); }
__m256 eight(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
float one(float element) { return element; }
float one(uint16_t element) { return _cvtsh_ss(element); }

/// p[h][i] = the eight partial sums of query h and key i over `whole` columns: a key is converted once for all queries.
template <typename T, size_t n_heads, size_t n_keys>
void multiply(const float* q, size_t head_dim, const T* const (&keys)[n_keys], size_t whole,
              __m256 (&p)[n_heads][n_keys]) {
  for (auto& sums : p)
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
  const auto step = [&](size_t c) {
    __m256 key[n_keys];
#pragma GCC unroll 4
    for (size_t i = 0; i < n_keys; ++i) key[i] = eight(keys[i] + c);
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h) {
      const __m256 query = _mm256_loadu_ps(q + h * head_dim + c);
#pragma GCC unroll 4
      for (size_t i = 0; i < n_keys; ++i) p[h][i] = _mm256_fmadd_ps(query, key[i], p[h][i]);
    }
  };
  constexpr size_t kLine = kLineBytes / sizeof(T);
  size_t c = 0;
  for (; c + kLine <= whole; c += kLine) {
#pragma GCC unroll 4
    for (size_t i = 0; i < n_keys; ++i) __builtin_prefetch(keys[i] + c + kAheadBytes / sizeof(T), 0, 2);
#pragma GCC unroll 4
    for (size_t of_line = 0; of_line < kLine; of_line += 8) step(c + of_line);
  }
  for (; c < whole; c += 8) step(c);
}

/// The tree of docs/numerics.md over four times eight partial sums at once.
__m128 reduce(__m256 a, __m256 b, __m256 c, __m256 d) {
  const auto halves = [](__m256 p) {
    return _mm_add_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1));
  };
  __m128 s[4] = {halves(a), halves(b), halves(c), halves(d)};
  _MM_TRANSPOSE4_PS(s[0], s[1], s[2], s[3]);
  return _mm_add_ps(_mm_add_ps(s[0], s[2]), _mm_add_ps(s[1], s[3]));
}

/// Four keys of each query.
template <size_t n_heads>
void store(const __m256 (&p)[n_heads][4], __m128 factor, float* scores, size_t stride) {
  for (size_t h = 0; h < n_heads; ++h)
    _mm_storeu_ps(scores + h * stride, _mm_mul_ps(reduce(p[h][0], p[h][1], p[h][2], p[h][3]), factor));
}
/// Two keys of each query.
template <size_t n_heads>
void store(const __m256 (&p)[n_heads][2], __m128 factor, float* scores, size_t stride) {
  for (size_t h = 0; h < n_heads; h += 2) {
    const __m128 pairs = _mm_mul_ps(reduce(p[h][0], p[h][1], p[h + 1][0], p[h + 1][1]), factor);
    _mm_storel_pi(reinterpret_cast<__m64*>(scores + h * stride), pairs);
    _mm_storeh_pi(reinterpret_cast<__m64*>(scores + (h + 1) * stride), pairs);
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
    __m256 p[n_heads][n];
    multiply(q, head_dim, keys, whole, p);
    if constexpr (n > 1) {
      if (whole == head_dim) return store(p, _mm_set1_ps(factor), scores + first, n_keys);
    }
    float partial[n_heads][n][8];
#pragma GCC unroll 4
    for (size_t h = 0; h < n_heads; ++h)
#pragma GCC unroll 4
      for (size_t i = 0; i < n; ++i) _mm256_storeu_ps(partial[h][i], p[h][i]);
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

}  // namespace spiked::kernels::avx2
