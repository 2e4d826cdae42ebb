#include <bit>

#include "kernels/dispatch.h"
#include "kernels/self_test/faults.h"

namespace spiked::kernels::testing {
namespace {

constexpr float kStray = 42.0f;
constexpr uint32_t kStrayIndex = 42;

void flip(float& v) { v = std::bit_cast<float>(std::bit_cast<uint32_t>(v) ^ 1u); }

void flip_last(float* y, size_t n) {
  if (n != 0) flip(y[n - 1]);
}

}  // namespace

const Kernels& scalar_kernels() { return *select("scalar").value()->kernels; }

Kernels wrong_kernels() {
  Kernels k;
  plant_wrong_products(k);
  plant_wrong_rows(k);
  k.column_sum_f32 = [](const float* w, size_t rows, const uint32_t* active, size_t n_active, size_t begin,
                        size_t end, float* y) {
    scalar_kernels().column_sum_f32(w, rows, active, n_active, begin, end, y);
    flip_last(y, end);
  };
  k.column_sum_i8 = [](const int8_t* w, size_t rows, const uint32_t* active, size_t n_active, size_t begin,
                       size_t end, int32_t* sums) {
    scalar_kernels().column_sum_i8(w, rows, active, n_active, begin, end, sums);
    if (end != begin) sums[end - 1] ^= 1;
  };
  k.scale_sums = [](const int32_t* parts, size_t stride, size_t n_parts, const float* scale, size_t begin,
                    size_t end, float* y) {
    scalar_kernels().scale_sums(parts, stride, n_parts, scale, begin, end, y);
    if (end != begin) flip(y[end - 1]);
  };
  k.column_product_f32 = [](const float* w, size_t rows, const float* x, size_t cols, size_t begin,
                            size_t end, float* y) {
    scalar_kernels().column_product_f32(w, rows, x, cols, begin, end, y);
    flip_last(y, end);
  };
  k.attend_scores = [](const float* q, size_t n_heads, const float* keys, size_t stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores) {
    scalar_kernels().attend_scores(q, n_heads, keys, stride, slots, n_keys, head_dim, factor, scores);
    flip_last(scores, n_heads * n_keys);
  };
  k.attend_values = [](const float* p, size_t n_heads, const float* v, size_t stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
    scalar_kernels().attend_values(p, n_heads, v, stride, slots, n_keys, head_dim, y);
    flip_last(y, n_heads * head_dim);
  };
  k.softmax = [](float* scores, size_t n) {
    scalar_kernels().softmax(scores, n);
    flip_last(scores, n);
  };
  k.layer_norm = [](const float* x, const float* weight, const float* bias, size_t n, float eps, float* y) {
    scalar_kernels().layer_norm(x, weight, bias, n, eps, y);
    flip_last(y, n);
  };
  k.add_f32 = [](const float* a, const float* b, size_t n, float* y) {
    scalar_kernels().add_f32(a, b, n, y);
    flip_last(y, n);
  };
  k.membrane_step = [](float* membrane, const float* x, size_t n, float leak, float threshold,
                       uint32_t* active) {
    const size_t n_active = scalar_kernels().membrane_step(membrane, x, n, leak, threshold, active);
    return n_active - (n_active != 0 ? 1 : 0);
  };
  k.threshold_gather = [](const float* z, size_t n, float threshold, uint32_t* active) {
    const size_t n_active = scalar_kernels().threshold_gather(z, n, threshold, active);
    return n_active - (n_active != 0 ? 1 : 0);
  };
  k.decay_step = [](float* h, const float* a, float beta, size_t n) {
    scalar_kernels().decay_step(h, a, beta, n);
    flip_last(h, n);
  };
  k.rope = [](float* x, const float* cos, const float* sin, size_t half) {
    scalar_kernels().rope(x, cos, sin, half);
    flip_last(x, 2 * half);
  };
  k.mix_f32 = [](float g, const float* a, const float* b, size_t n, float* y) {
    scalar_kernels().mix_f32(g, a, b, n, y);
    flip_last(y, n);
  };
  k.scaled_add = [](float p, const float* b, size_t n, float* y) {
    scalar_kernels().scaled_add(p, b, n, y);
    flip_last(y, n);
  };
  k.gelu = [](float* x, size_t n) {
    scalar_kernels().gelu(x, n);
    flip_last(x, n);
  };
  k.quantize_i8 = [](const float* x, size_t n, int8_t* q) {
    const float scale = scalar_kernels().quantize_i8(x, n, q);
    if (n != 0) q[n - 1] = static_cast<int8_t>(q[n - 1] ^ 1);
    return scale;
  };
  k.quantize_i16 = [](const float* x, size_t n, int16_t* q) {
    const float scale = scalar_kernels().quantize_i16(x, n, q);
    if (n != 0) q[n - 1] = static_cast<int16_t>(q[n - 1] ^ 1);
    return scale;
  };
  return k;
}

Kernels overrunning_kernels() {
  Kernels k;
  plant_overrunning_products(k);
  plant_overrunning_rows(k);
  k.column_sum_f32 = [](const float* w, size_t rows, const uint32_t* active, size_t n_active, size_t begin,
                        size_t end, float* y) {
    scalar_kernels().column_sum_f32(w, rows, active, n_active, begin, end, y);
    y[end] = kStray;
  };
  k.column_sum_i8 = [](const int8_t* w, size_t rows, const uint32_t* active, size_t n_active, size_t begin,
                       size_t end, int32_t* sums) {
    scalar_kernels().column_sum_i8(w, rows, active, n_active, begin, end, sums);
    sums[end] = static_cast<int32_t>(kStrayIndex);
  };
  k.scale_sums = [](const int32_t* parts, size_t stride, size_t n_parts, const float* scale, size_t begin,
                    size_t end, float* y) {
    scalar_kernels().scale_sums(parts, stride, n_parts, scale, begin, end, y);
    y[end] = kStray;
  };
  k.column_product_f32 = [](const float* w, size_t rows, const float* x, size_t cols, size_t begin,
                            size_t end, float* y) {
    scalar_kernels().column_product_f32(w, rows, x, cols, begin, end, y);
    y[end] = kStray;
  };
  k.attend_scores = [](const float* q, size_t n_heads, const float* keys, size_t stride,
                       const uint32_t* slots, size_t n_keys, size_t head_dim, float factor, float* scores) {
    scalar_kernels().attend_scores(q, n_heads, keys, stride, slots, n_keys, head_dim, factor, scores);
    scores[n_heads * n_keys] = kStray;
  };
  k.attend_values = [](const float* p, size_t n_heads, const float* v, size_t stride, const uint32_t* slots,
                       size_t n_keys, size_t head_dim, float* y) {
    scalar_kernels().attend_values(p, n_heads, v, stride, slots, n_keys, head_dim, y);
    y[n_heads * head_dim] = kStray;
  };
  k.softmax = [](float* scores, size_t n) {
    scalar_kernels().softmax(scores, n);
    scores[n] = kStray;
  };
  k.layer_norm = [](const float* x, const float* weight, const float* bias, size_t n, float eps, float* y) {
    scalar_kernels().layer_norm(x, weight, bias, n, eps, y);
    y[n] = kStray;
  };
  k.add_f32 = [](const float* a, const float* b, size_t n, float* y) {
    scalar_kernels().add_f32(a, b, n, y);
    y[n] = kStray;
  };
  k.membrane_step = [](float* membrane, const float* x, size_t n, float leak, float threshold,
                       uint32_t* active) {
    const size_t n_active = scalar_kernels().membrane_step(membrane, x, n, leak, threshold, active);
    active[n] = kStrayIndex;
    return n_active;
  };
  k.threshold_gather = [](const float* z, size_t n, float threshold, uint32_t* active) {
    const size_t n_active = scalar_kernels().threshold_gather(z, n, threshold, active);
    active[n] = kStrayIndex;
    return n_active;
  };
  k.decay_step = [](float* h, const float* a, float beta, size_t n) {
    scalar_kernels().decay_step(h, a, beta, n);
    h[n] = kStray;
  };
  k.rope = [](float* x, const float* cos, const float* sin, size_t half) {
    scalar_kernels().rope(x, cos, sin, half);
    x[2 * half] = kStray;
  };
  k.mix_f32 = [](float g, const float* a, const float* b, size_t n, float* y) {
    scalar_kernels().mix_f32(g, a, b, n, y);
    y[n] = kStray;
  };
  k.scaled_add = [](float p, const float* b, size_t n, float* y) {
    scalar_kernels().scaled_add(p, b, n, y);
    y[n] = kStray;
  };
  k.gelu = [](float* x, size_t n) {
    scalar_kernels().gelu(x, n);
    x[n] = kStray;
  };
  k.quantize_i8 = [](const float* x, size_t n, int8_t* q) {
    const float scale = scalar_kernels().quantize_i8(x, n, q);
    q[n] = 42;
    return scale;
  };
  k.quantize_i16 = [](const float* x, size_t n, int16_t* q) {
    const float scale = scalar_kernels().quantize_i16(x, n, q);
    q[n] = 42;
    return scale;
  };
  return k;
}

}  // namespace spiked::kernels::testing
