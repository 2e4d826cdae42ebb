#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/layout.h"

/// Every kernel of the engine: one struct of function pointers, one table an ISA. The order of every float operation
/// is docs/numerics.md; scalar/ is its executable form and every ISA returns its bits. Kernels are leaves: no
/// allocation, no thread, no error; ops/ checks sizes.
namespace spiked::kernels {

/// y[t, r] = sum_c w[r, c] * x[t, c] for the rows of panels [panel_begin, panel_end).
///
/// w        f32 panel_4x32 of [rows, cols], cols % 32 == 0 (padded), aligned 64
/// x        f32 [batch, x_stride], zero from the logical to the padded column, x_stride >= cols, rows aligned 64
/// y        f32 [batch, y_stride], four values written a panel, y_stride >= 4 * panel_end; may not overlap w or x
using MatmulF32F32 = void (*)(const float* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                              size_t panel_begin, size_t panel_end, float* y, size_t y_stride);

/// y[t, r] = scale[r] * sum_c f32(w[r, c]) * x[t, c]; as above with int8 weights.
///
/// scale    f32 [rows padded to 4]
using MatmulI8F32 = void (*)(const int8_t* w, const float* scale, const float* x, size_t x_stride,
                             size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                             size_t y_stride);

/// y[r] = sum of w[r, k] over the active columns k, in ascending order, for r in [row_begin, row_end).
///
/// w        f32 column_major, column k at w + k * rows_padded, aligned 64
/// active   [n_active] ascending column numbers
/// rows     row_begin % 64 == 0, row_end % 64 == 0, row_end <= rows_padded
/// y        f32 [rows_padded]
using ColumnSumF32 = void (*)(const float* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                              size_t row_begin, size_t row_end, float* y);

/// sums[r] = sum of w[r, k] over the active columns, exact for n_active < 2^24; as above with int8 weights.
///
/// sums     int32 [rows_padded]
using ColumnSumI8 = void (*)(const int8_t* w, size_t rows_padded, const uint32_t* active, size_t n_active,
                             size_t row_begin, size_t row_end, int32_t* sums);

/// y[r] = scale[r] * f32(sum over the parts of part[r]) for r in [begin, end): exact sums of disjoint columns, put together.
///
/// parts    int32 [n_parts, stride], n_parts >= 1; their total is below 2^31
using ScaleSums = void (*)(const int32_t* parts, size_t stride, size_t n_parts, const float* scale,
                           size_t begin, size_t end, float* y);

/// scores[h, i] = dot(q[h], k[slots[i]]) * factor, for i in [0, n_keys): n_heads queries that share their keys.
///
/// q        f32 [n_heads, head_dim], any head_dim, any alignment
/// k        f32, row of slot s at k + s * k_stride
/// scores   f32 [n_heads, n_keys]
using AttendScores = void (*)(const float* q, size_t n_heads, const float* k, size_t k_stride,
                              const uint32_t* slots, size_t n_keys, size_t head_dim, float factor,
                              float* scores);

/// y[h, j] = fma over i ascending of p[h, i] * v[slots[i], j], for j in [0, head_dim).
///
/// p        f32 [n_heads, n_keys]
/// y        f32 [n_heads, head_dim]
using AttendValues = void (*)(const float* p, size_t n_heads, const float* v, size_t v_stride,
                              const uint32_t* slots, size_t n_keys, size_t head_dim, float* y);

/// In place: softmax over n >= 1 scores, sums in ascending order.
using Softmax = void (*)(float* scores, size_t n);

/// y = (x - mean) / sqrt(var + eps) * weight + bias over n values; y may be x.
using LayerNorm = void (*)(const float* x, const float* weight, const float* bias, size_t n, float eps,
                           float* y);

/// y[i] = a[i] + b[i]; y may be a or b.
using Add = void (*)(const float* a, const float* b, size_t n, float* y);

/// Integrate, clamp, fire and reset n membranes; returns the number of spikes, whose indices are in active ascending.
///
/// membrane f32 [n], updated; x f32 [n]; active room for n
using MembraneStep = size_t (*)(float* membrane, const float* x, size_t n, float leak, float threshold,
                                uint32_t* active);

/// Indices i, ascending, with z[i] >= threshold; returns their number. active has room for n.
using ThresholdGather = size_t (*)(const float* z, size_t n, float threshold, uint32_t* active);

/// h[i] = beta * h[i] + (1 - beta) * a[i] (two products, one add).
using DecayStep = void (*)(float* h, const float* a, float beta, size_t n);

/// In place half-split rotation of one head: pairs (j, j + half), cos and sin f32 [half].
using Rope = void (*)(float* x, const float* cos, const float* sin, size_t half);

/// y[i] = g * a[i] + (1 - g) * b[i] (two products, one add).
using Mix = void (*)(float g, const float* a, const float* b, size_t n, float* y);

/// y[i] = y[i] + (p * b[i]) (product rounded before the add).
using ScaledAdd = void (*)(float p, const float* b, size_t n, float* y);

/// In place exact (erf) GELU.
using Gelu = void (*)(float* x, size_t n);

/// q[i] = x[i] / scale rounded half to even and clipped to +-127; returns scale = max |x| / 127, or 1 when that is 0.
///
/// x        f32 [n], any alignment; a NaN is no candidate for the maximum and gives 0
/// q        int8 [n]; may not overlap x
using QuantizeI8 = float (*)(const float* x, size_t n, int8_t* q);

/// y[t, r] = f32(sum_c w[r, c] * q[t, c]) * (q_scale[t] * scale[r]) for the rows of panels [panel_begin, panel_end).
///
/// w        int8 panel_4x32 of [rows, cols], cols % 32 == 0 (padded), cols < 2^17, aligned 64
/// scale    f32 [rows padded to 4]
/// q        int8 [batch, q_stride] in [-127, 127], zero from the logical to the padded column, rows aligned 32
/// q_scale  f32 [batch]
/// y        f32 [batch, y_stride], four values written a panel; may not overlap the inputs
///
/// Exact: |sum| <= 128 * 127 * cols < 2^31, so every ISA may add in its own order.
using MatmulI8I8 = void (*)(const int8_t* w, const float* scale, const int8_t* q, const float* q_scale,
                            size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end,
                            float* y, size_t y_stride);

/// q[i] = x[i] / scale rounded half to even and clipped to +-32639; returns scale = max |x| / 32639, or 1 when that is 0.
///
/// q        int16 [n rounded up to 32] in the table's i16_order; values from n on stay what they were
///
/// 32639 = 127 * 256 + 127, the largest that splits into two signed byte planes. As QuantizeI8 otherwise.
using QuantizeI16 = float (*)(const float* x, size_t n, int16_t* q);

/// y[t, r] = f32(sum_c w[r, c] * q[t, c]) * (q_scale[t] * scale[r]); as MatmulI8I8 with 16-bit activations in [-32639, 32639].
///
/// q        int16 [batch, q_stride] in the table's i16_order, q_stride % 32 == 0
///
/// Exact: |sum| <= 128 * 32639 * cols < 2^39 for cols < 2^17; lanes are int32 for at most 2,048 columns (128 * 32639 * 2048 / 4
/// lanes < 2^31), int64 from there on. The int64 sum is rounded once to f32.
using MatmulI8I16 = void (*)(const int8_t* w, const float* scale, const int16_t* q, const float* q_scale,
                             size_t q_stride, size_t batch, size_t cols, size_t panel_begin, size_t panel_end,
                             float* y, size_t y_stride);

/// y[t, r] over 4-bit weights with one f16 scale a group of 32 columns (docs/numerics.md has the order).
///
/// w        panel_4x32_i4 of [rows, cols], cols % 32 == 0 (padded), aligned 64
/// x, y     as MatmulF32F32
///
/// For each group g ascending, in four lanes by column mod 4: t[l] starts +0, t[l] = fma(f32(w), x, t[l]) over the group's columns
/// ascending; then p[l] = fma(t[l], scale[r, g], p[l]), p starting +0. y = (p0 + p2) + (p1 + p3).
using MatmulI4F32 = void (*)(const uint8_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                             size_t panel_begin, size_t panel_end, float* y, size_t y_stride);

/// As MatmulI4F32 with quantised activations: t[l] = f32(exact integer sum over the lane's eight columns of the group), and
/// y = ((p0 + p2) + (p1 + p3)) * q_scale[t]. |sum| <= 8 * 8 * 127 < 2^24, so the conversion is exact.
using MatmulI4I8 = void (*)(const uint8_t* w, const int8_t* q, const float* q_scale, size_t q_stride,
                            size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                            size_t y_stride);

/// As MatmulI4I8 with the 16-bit activations of MatmulI8I16: |sum| <= 8 * 8 * 32639 < 2^24.
using MatmulI4I16 = void (*)(const uint8_t* w, const int16_t* q, const float* q_scale, size_t q_stride,
                             size_t batch, size_t cols, size_t panel_begin, size_t panel_end, float* y,
                             size_t y_stride);

/// y[r] = fma over k ascending of x[k] * w[r, k], one accumulator an output starting +0, for r in [row_begin, row_end): a dense
/// product over column_major weights. Only for comparing layouts.
///
/// w, rows  as ColumnSumF32; x f32 [cols]
using ColumnProductF32 = void (*)(const float* w, size_t rows_padded, const float* x, size_t cols,
                                  size_t row_begin, size_t row_end, float* y);

/// What quantize_ternary made of a row: q[i] = x[i] * multiplier, rounded and clipped to [-128, 127].
struct TernaryRow {
  float absmax;  ///< max |x|; not finite when a value is not, and q then holds zeros
  float
      multiplier;  ///< 127 / max(absmax, 1e-5); under the contract "hyphae" 127 / absmax, and 0 where that is infinite
  int32_t sum;  ///< of q
};

/// q[i] = x[i] * multiplier in f32, rounded half to even.
///
/// x        f32 [n], any alignment
/// q        int8 [n], readable and written to n only; may not overlap x
///
/// Source: the training code of BitNet b1.58 2B4T; docs/numerics.md, "Ternary products".
using QuantizeTernary = TernaryRow (*)(const float* x, size_t n, int8_t* q);

/// y[t, r] = f32(sum_c u[r, c] * q[t, c] - q_sum[t]) * y_scale[t] for rows r in [row_begin, row_end): the product with the weights u - 1.
///
/// w        t2 rows (layout.h), row r at w + r * cols / 4; cols % 128 == 0, cols < 2^15; any alignment, no code 3
/// q        int8 [batch, q_stride], rows aligned 32
/// q_sum    int32 [batch], of each row of q
/// y_scale  f32 [batch]
/// y        f32 [batch, y_stride], one value written a row; may not overlap the inputs
///
/// Exact: |sum| <= 2 * 128 * cols < 2^23 and |sum - q_sum| <= 128 * cols < 2^22, so every ISA may add in its own order and the conversion is exact.
/// Source: BitNet b1.58, arXiv 2402.17764, section 2.
using MatmulT2I8 = void (*)(const uint8_t* w, const int8_t* q, const int32_t* q_sum, const float* y_scale,
                            size_t q_stride, size_t batch, size_t cols, size_t row_begin, size_t row_end,
                            float* y, size_t y_stride);

/// y[i] = (x[i] * r) * weight[i] with r = 1 / sqrt(sum x^2 / n + eps): the sum in eight parts by i mod 8, FMA; y may be x.
using RmsNorm = void (*)(const float* x, const float* weight, size_t n, float eps, float* y);

/// y[i] = (r * r) * u[i] with r = g[i] where g[i] > 0, else 0; y may be g or u.
using ReluSquareMul = void (*)(const float* g, const float* u, size_t n, float* y);

/// y[t, r] = sum_c f32(w[r, c]) * x[t, c] for rows r in [row_begin, row_end).
///
/// w        f16 [rows, cols] row-major, cols % 8 == 0, aligned 2
/// x        f32 [batch, x_stride], x_stride >= cols, rows aligned 32
/// y        f32 [batch, y_stride], one value written a row; may not overlap w or x
using MatmulF16F32 = void (*)(const uint16_t* w, const float* x, size_t x_stride, size_t batch, size_t cols,
                              size_t row_begin, size_t row_end, float* y, size_t y_stride);

/// As AttendScores and AttendValues with f16 keys and values, which are f32 numbers exactly.
using AttendScoresF16 = void (*)(const float* q, size_t n_heads, const uint16_t* k, size_t k_stride,
                                 const uint32_t* slots, size_t n_keys, size_t head_dim, float factor,
                                 float* scores);
using AttendValuesF16 = void (*)(const float* p, size_t n_heads, const uint16_t* v, size_t v_stride,
                                 const uint32_t* slots, size_t n_keys, size_t head_dim, float* y);

struct Kernels {
#define SPIKED_KERNEL(type, name, avx2, avx2_vnni, neon, neon_dotprod) type name;
#include "kernels/list.def"
#undef SPIKED_KERNEL
  /// What quantize_i16, matmul_i8_i16 and matmul_i4_i16 agree on.
  layout::I16Order i16_order = layout::I16Order::kColumns;
};

}  // namespace spiked::kernels
