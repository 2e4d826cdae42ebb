// spiked_kernel_cases [isa]: calls each kernel of one instruction set on fixed shapes and fixed data, each between two marks that an
// instruction counter sees. Prints a line a case, in the order of the marks: name, tokens, and multiplied or added weights.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/aligned.h"
#include "kernels/dispatch.h"
#include "kernels/layout.h"

extern "C" {
// One block of instructions each, entered at its first: the counters look for these names. The bodies differ, or one would be folded
// into the other.
[[gnu::noinline, gnu::visibility("default")]] void spiked_count_begin() { asm volatile("// begin"); }
[[gnu::noinline, gnu::visibility("default")]] void spiked_count_end() { asm volatile("// end"); }
}

namespace {

using namespace spiked;
using kernels::Kernels;

constexpr size_t kWidth = 1536, kRows = 64, kPanels = kRows / layout::kPanelRows;
constexpr size_t kBatch = 32;
constexpr size_t kColumns = 512, kActiveEach = 4;  // one column in four is active
constexpr size_t kParts = 4;
constexpr size_t kHeadDim = 96, kKeys = 64, kHeads = 4;

struct Random {
  uint64_t state = 1;
  uint64_t next() { return state = state * 6364136223846793005u + 1442695040888963407u; }
  float number() { return static_cast<float>(static_cast<int32_t>(next() >> 32)) * 0x1p-31f; }
};

template <typename T>
AlignedArray<T> random_array(Random& random, size_t n) {
  AlignedArray<T> x(n);
  for (size_t i = 0; i < n; ++i)
    x[i] = sizeof(T) == 1 ? static_cast<T>(random.next() >> 56) : static_cast<T>(random.number());
  return x;
}

template <typename Run>
void counted(const char* name, size_t tokens, size_t weights, Run run) {
  std::printf("%s %zu %zu\n", name, tokens, weights);
  spiked_count_begin();
  run();
  spiked_count_end();
}

/// What every dense product takes; y is [kBatch, kRows].
struct Tokens {
  Tokens(const Kernels& k, Random& random)
      : x(random_array<float>(random, kBatch * kWidth)),
        q8(kBatch * kWidth),
        q16(kBatch * kWidth),
        scale(random_array<float>(random, kRows)),
        y(kBatch * kRows) {
    for (size_t t = 0; t < kBatch; ++t) {
      q8_scale[t] = k.quantize_i8(x.data() + t * kWidth, kWidth, q8.data() + t * kWidth);
      q16_scale[t] = k.quantize_i16(x.data() + t * kWidth, kWidth, q16.data() + t * kWidth);
    }
  }
  AlignedArray<float> x;
  AlignedArray<int8_t> q8;
  AlignedArray<int16_t> q16;
  AlignedArray<float> scale, y;
  float q8_scale[kBatch], q16_scale[kBatch];
};

void products(const Kernels& k, Random& random) {
  Tokens s(k, random);
  const auto f32 = random_array<float>(random, kRows * kWidth);
  const auto i8 = random_array<int8_t>(random, kRows * kWidth);
  auto i4 = random_array<uint8_t>(random, kPanels * layout::i4_panel_bytes(kWidth));
  for (size_t at = 0; at < kPanels; ++at) {
    for (size_t g = 0; g < kWidth / layout::kGroupColumns; ++g) {
      const uint16_t scales[layout::kPanelRows] = {0x211f, 0x211f, 0x211f, 0x211f};  // 0.01
      std::memcpy(i4.data() + at * layout::i4_panel_bytes(kWidth) + layout::i4_scales_at(g), scales,
                  sizeof scales);
    }
  }
  for (const size_t n : {size_t{1}, kBatch}) {
    const size_t weights = n * kRows * kWidth;
    counted("matmul_f32_f32", n, weights, [&] {
      k.matmul_f32_f32(f32.data(), s.x.data(), kWidth, n, kWidth, 0, kPanels, s.y.data(), kRows);
    });
    counted("matmul_i8_f32", n, weights, [&] {
      k.matmul_i8_f32(i8.data(), s.scale.data(), s.x.data(), kWidth, n, kWidth, 0, kPanels, s.y.data(),
                      kRows);
    });
    counted("matmul_i8_i16", n, weights, [&] {
      k.matmul_i8_i16(i8.data(), s.scale.data(), s.q16.data(), s.q16_scale, kWidth, n, kWidth, 0, kPanels,
                      s.y.data(), kRows);
    });
    counted("matmul_i8_i8", n, weights, [&] {
      k.matmul_i8_i8(i8.data(), s.scale.data(), s.q8.data(), s.q8_scale, kWidth, n, kWidth, 0, kPanels,
                     s.y.data(), kRows);
    });
    counted("matmul_i4_f32", n, weights, [&] {
      k.matmul_i4_f32(i4.data(), s.x.data(), kWidth, n, kWidth, 0, kPanels, s.y.data(), kRows);
    });
    counted("matmul_i4_i16", n, weights, [&] {
      k.matmul_i4_i16(i4.data(), s.q16.data(), s.q16_scale, kWidth, n, kWidth, 0, kPanels, s.y.data(), kRows);
    });
    counted("matmul_i4_i8", n, weights, [&] {
      k.matmul_i4_i8(i4.data(), s.q8.data(), s.q8_scale, kWidth, n, kWidth, 0, kPanels, s.y.data(), kRows);
    });
  }
  counted("quantize_i16", 1, 0, [&] { k.quantize_i16(s.x.data(), kWidth, s.q16.data()); });
  counted("quantize_i8", 1, 0, [&] { k.quantize_i8(s.x.data(), kWidth, s.q8.data()); });
}

/// What BitNet's products and steps take; 1536 columns are twelve blocks.
void ternary(const Kernels& k, Random& random) {
  auto x = random_array<float>(random, kBatch * kWidth), y = random_array<float>(random, kBatch * kRows);
  const auto weight = random_array<float>(random, kWidth);
  auto t2 = random_array<uint8_t>(random, kRows * kWidth / 4);
  for (size_t i = 0; i < t2.size(); ++i) t2[i] = static_cast<uint8_t>(t2[i] & ~(t2[i] >> 1 & 0x55));
  AlignedArray<uint16_t> f16(kRows * kWidth);
  for (size_t i = 0; i < f16.size(); ++i) f16[i] = static_cast<uint16_t>(random.next() & 0xbfff);
  AlignedArray<int8_t> q(kBatch * kWidth);
  int32_t sums[kBatch];
  for (size_t t = 0; t < kBatch; ++t)
    sums[t] = k.quantize_ternary(x.data() + t * kWidth, kWidth, q.data() + t * kWidth).sum;
  for (const size_t n : {size_t{1}, kBatch}) {
    const size_t weights = n * kRows * kWidth;
    counted("matmul_t2_i8", n, weights, [&] {
      k.matmul_t2_i8(t2.data(), q.data(), sums, weight.data(), kWidth, n, kWidth, 0, kRows, y.data(), kRows);
    });
    counted("matmul_f16_f32", n, weights,
            [&] { k.matmul_f16_f32(f16.data(), x.data(), kWidth, n, kWidth, 0, kRows, y.data(), kRows); });
  }
  counted("quantize_ternary", 1, 0, [&] { k.quantize_ternary(x.data(), kWidth, q.data()); });
  uint32_t slots[kKeys];
  for (size_t i = 0; i < kKeys; ++i) slots[i] = static_cast<uint32_t>((i * 5 + 3) % kKeys);
  AlignedArray<float> scores(kHeads * kKeys);
  counted("attend_scores_f16", 1, 0, [&] {
    k.attend_scores_f16(x.data(), kHeads, f16.data(), kHeadDim, slots, kKeys, kHeadDim, 0.1f, scores.data());
  });
  counted("attend_values_f16", 1, 0, [&] {
    k.attend_values_f16(scores.data(), kHeads, f16.data(), kHeadDim, slots, kKeys, kHeadDim, y.data());
  });
  counted("rms_norm", 1, 0, [&] { k.rms_norm(x.data(), weight.data(), kWidth, 1e-5f, x.data()); });
  counted("relu_square_mul", 1, 0, [&] { k.relu_square_mul(x.data(), weight.data(), kWidth, x.data()); });
}

void columns(const Kernels& k, Random& random) {
  const auto f32 = random_array<float>(random, kColumns * kWidth);
  const auto i8 = random_array<int8_t>(random, kColumns * kWidth);
  const auto scale = random_array<float>(random, kWidth), x = random_array<float>(random, kColumns);
  AlignedArray<float> y(kWidth);
  uint32_t active[kColumns / kActiveEach];
  constexpr size_t kActive = kColumns / kActiveEach;
  for (size_t i = 0; i < kActive; ++i)
    active[i] = static_cast<uint32_t>(i * kActiveEach + random.next() % kActiveEach);
  counted("column_sum_f32", 1, kActive * kWidth,
          [&] { k.column_sum_f32(f32.data(), kWidth, active, kActive, 0, kWidth, y.data()); });
  AlignedArray<int32_t> parts(kParts * kWidth);
  counted("column_sum_i8", 1, kActive * kWidth,
          [&] { k.column_sum_i8(i8.data(), kWidth, active, kActive, 0, kWidth, parts.data()); });
  counted("scale_sums", 1, 0,
          [&] { k.scale_sums(parts.data(), kWidth, kParts, scale.data(), 0, kWidth, y.data()); });
  counted("column_product_f32", 1, kColumns * kWidth,
          [&] { k.column_product_f32(f32.data(), kWidth, x.data(), kColumns, 0, kWidth, y.data()); });
}

void rest(const Kernels& k, Random& random) {
  auto a = random_array<float>(random, kWidth), y = random_array<float>(random, kWidth);
  const auto b = random_array<float>(random, kWidth);
  const auto keys = random_array<float>(random, kKeys * kHeadDim);
  AlignedArray<float> scores(kKeys);
  AlignedArray<uint32_t> active(kWidth);
  uint32_t slots[kKeys];
  for (size_t i = 0; i < kKeys; ++i) slots[i] = static_cast<uint32_t>((i * 5 + 3) % kKeys);
  counted("attend_scores", 1, 0, [&] {
    k.attend_scores(a.data(), 1, keys.data(), kHeadDim, slots, kKeys, kHeadDim, 0.1f, scores.data());
  });
  counted("softmax", 1, 0, [&] { k.softmax(scores.data(), kKeys); });
  counted("attend_values", 1, 0, [&] {
    k.attend_values(scores.data(), 1, keys.data(), kHeadDim, slots, kKeys, kHeadDim, y.data());
  });
  counted("layer_norm", 1, 0, [&] { k.layer_norm(a.data(), b.data(), b.data(), kWidth, 1e-5f, y.data()); });
  counted("add_f32", 1, 0, [&] { k.add_f32(a.data(), b.data(), kWidth, y.data()); });
  counted("membrane_step", 1, 0,
          [&] { k.membrane_step(a.data(), b.data(), kWidth, 0.9f, 0.8f, active.data()); });
  counted("threshold_gather", 1, 0, [&] { k.threshold_gather(b.data(), kWidth, 0.8f, active.data()); });
  counted("decay_step", 1, 0, [&] { k.decay_step(a.data(), b.data(), 0.9f, kWidth); });
  counted("rope", 1, 0, [&] { k.rope(a.data(), b.data(), b.data() + kHeadDim / 2, kHeadDim / 2); });
  counted("mix_f32", 1, 0, [&] { k.mix_f32(0.3f, a.data(), b.data(), kWidth, y.data()); });
  counted("scaled_add", 1, 0, [&] { k.scaled_add(0.3f, b.data(), kWidth, y.data()); });
  counted("gelu", 1, 0, [&] { k.gelu(a.data(), kWidth); });
}

}  // namespace

int main(int argc, char** argv) {
  const Result<const kernels::Isa*> isa = kernels::select(argc > 1 ? argv[1] : "");
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.status().message().c_str());
    return 1;
  }
  Random random;
  products(*isa.value()->kernels, random);
  columns(*isa.value()->kernels, random);
  rest(*isa.value()->kernels, random);
  ternary(*isa.value()->kernels, random);
}
