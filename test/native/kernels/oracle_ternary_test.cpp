#include "kernels/ternary.h"

namespace {

using namespace ternary;
using spiked::format;

constexpr size_t kCols = 128;

/// w[j] = ((j^2 mod 7) mod 3) - 1, packed by another program.
constexpr uint8_t kPacked[32] = {0x25, 0x55, 0x58, 0x89, 0x95, 0x56, 0x62, 0x25, 0x55, 0x58, 0x89,
                                 0x95, 0x56, 0x62, 0x25, 0x55, 0x58, 0x89, 0x95, 0x56, 0x62, 0x25,
                                 0x55, 0x58, 0x89, 0x95, 0x56, 0x62, 0x25, 0x55, 0x58, 0x89};

int code(size_t j) { return static_cast<int>(j * j % 7 % 3); }

std::vector<float> known_activations() {
  std::vector<float> x(kCols);
  for (size_t j = 0; j < kCols; ++j)
    x[j] = (j == 127 ? 127.0f : static_cast<float>(static_cast<int>((37 * j + 11) % 255) - 127)) / 63.5f;
  return x;
}

/// The codes that two wrong readers take from the same bytes.
std::vector<int> read_as_64_16(const std::vector<uint8_t>& w) {
  std::vector<int> u(w.size() * 4);
  for (size_t i = 0; i < w.size(); ++i) {
    for (size_t plane = 0; plane < 4; ++plane)
      u[i / 16 * 64 + plane * 16 + i % 16] = w[i] >> (6 - 2 * plane) & 3;
  }
  return u;
}
std::vector<int> read_in_sequence(const std::vector<uint8_t>& w) {
  std::vector<int> u(w.size() * 4);
  for (size_t j = 0; j < u.size(); ++j) u[j] = w[j / 4] >> (6 - 2 * (j % 4)) & 3;
  return u;
}

const unit::Unit known_unit(
    "oracle: the worked example of a ternary product, and two wrong readings of its bytes",
    [](unit::Test& t) {
      std::vector<int> u(kCols);
      for (size_t j = 0; j < kCols; ++j) u[j] = code(j);
      const std::vector<uint8_t> w = pack(u);
      t.expect(std::equal(w.begin(), w.end(), kPacked), "the packed bytes");
      for_each_isa([&](const Isa& isa) {
        const Kernels& k = *isa.kernels;
        for (const auto quantize : {k.quantize_ternary, k.quantize_ternary_half_away}) {
          const Codes x(quantize, known_activations(), 1);
          t.expect(x.rows[0].absmax == 2.0f && x.rows[0].multiplier == 63.5f && x.sums[0] == -88,
                   format("%s: absmax 2, multiplier 63.5, S -88; found %g, %g, %d", isa.name,
                          static_cast<double>(x.rows[0].absmax), static_cast<double>(x.rows[0].multiplier),
                          x.sums[0]));
          const auto is = [&](const char* what, const std::vector<uint8_t>& bytes, float d) {
            const float found = dots(k, bytes, 1, x.q.data(), {0}, kCols)[0];
            const float less_sum = dots(k, bytes, 1, x.q.data(), x.sums, kCols)[0];
            t.expect(
                found == d && less_sum == d + 88,
                format("%s, %s: expected D %g, found %g and D - S %g", isa.name, what, static_cast<double>(d),
                       static_cast<double>(found), static_cast<double>(less_sum)));
          };
          is("canonical", w, 3142);
          is("read as 64/16", pack(read_as_64_16(w)), 501);
          is("read in sequence", pack(read_in_sequence(w)), -297);
          const float y_scale = 1.25f / x.rows[0].multiplier;
          float y = 0;
          k.matmul_t2_i8(w.data(), x.q.data(), x.sums.data(), &y_scale, kCols, 1, kCols, 0, 1, &y, 1);
          oracle::expect_near(t, "y", 0, 3230 * 1.25 / 63.5, y, 2 * oracle::kUnit * 64);
        }
      });
    });

const unit::Unit extremes_unit("oracle: zero, saturated and alternating rows of ternary products",
                               [](unit::Test& t) {
                                 for (size_t cols : {size_t{2560}, size_t{6912}, size_t{32640}}) {
                                   const float n = static_cast<float>(cols);
                                   const std::vector<uint8_t> plus(cols / 4, 0xaa), minus(cols / 4, 0x00);
                                   std::vector<float> x(4 * cols);  // zeros, +5, -5, alternating
                                   for (size_t c = 0; c < cols; ++c) {
                                     x[cols + c] = 5.0f;
                                     x[2 * cols + c] = -5.0f;
                                     x[3 * cols + c] = c % 2 == 0 ? 5.0f : -5.0f;
                                   }
                                   for_each_isa([&](const Isa& isa) {
                                     const Kernels& k = *isa.kernels;
                                     const Codes q(k.quantize_ternary, x, 4);
                                     const std::vector<float> expected = {0, 127 * n, -127 * n, 0};
                                     t.expect(dots(k, plus, 1, q.q.data(), q.sums, cols) == expected,
                                              format("%s: +1 at %zu columns", isa.name, cols));
                                     const std::vector<float> negated = {0, -127 * n, 127 * n, 0};
                                     t.expect(dots(k, minus, 1, q.q.data(), q.sums, cols) == negated,
                                              format("%s: -1 at %zu columns", isa.name, cols));
                                     // A quantiser never gives -128; a product must hold it all the same.
                                     spiked::AlignedArray<int8_t> lowest(cols);
                                     std::memset(lowest.data(), -128, cols);
                                     t.expect(dots(k, plus, 1, lowest.data(), {0}, cols)[0] == -256 * n,
                                              format("%s: -128 at %zu columns", isa.name, cols));
                                   });
                                 }
                               });

const unit::Unit batch_unit("oracle: a batch of ternary products gives each row's integers",
                            [](unit::Test& t) {
                              std::mt19937 random(31);
                              const size_t cols = 640, n_rows = 9;
                              std::vector<int> u(n_rows * cols);
                              for (int& v : u) v = static_cast<int>(random() % 3);
                              const std::vector<uint8_t> w = pack(u);
                              for (size_t batch : {1u, 3u, 4u, 5u, 8u, 17u}) {
                                const std::vector<float> x = oracle::numbers(random, batch * cols);
                                for_each_isa([&](const Isa& isa) {
                                  const Codes q(isa.kernels->quantize_ternary, x, batch);
                                  const std::vector<float> together =
                                      dots(*isa.kernels, w, n_rows, q.q.data(), q.sums, cols);
                                  for (size_t b = 0; b < batch; ++b) {
                                    for (size_t r = 0; r < n_rows; ++r) {
                                      int64_t sum = 0;
                                      for (size_t c = 0; c < cols; ++c)
                                        sum += (u[r * cols + c] - 1) * q.q[b * cols + c];
                                      t.expect(
                                          together[b * n_rows + r] == static_cast<float>(sum),
                                          format("%s: batch %zu, token %zu, row %zu", isa.name, batch, b, r));
                                    }
                                  }
                                });
                              }
                            });

const unit::Unit quantiser_unit(
    "oracle: the two quantisers of ternary rows at ties, at the floor and without a number",
    [](unit::Test& t) {
      const float x[6] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -126.5f};
      const int8_t even[6] = {127, 0, 2, 2, 0, -126}, away[6] = {127, 1, 2, 3, -1, -127};
      for_each_isa([&](const Isa& isa) {
        const Kernels& k = *isa.kernels;
        int8_t q[6];
        const auto row = [&](auto quantize, const std::vector<float>& values) {
          return quantize(values.data(), values.size(), q);
        };
        const std::vector<float> ties(x, x + 6);
        t.expect(row(k.quantize_ternary, ties).sum == 5 && std::memcmp(q, even, 6) == 0,
                 format("%s: half to even", isa.name));
        t.expect(row(k.quantize_ternary_half_away, ties).sum == 5 && std::memcmp(q, away, 6) == 0,
                 format("%s: half away", isa.name));
        const TernaryRow low = row(k.quantize_ternary, {1e-6f, -1e-6f, 0});
        t.expect(low.multiplier == 127.0f / 1e-5f && q[0] == 13 && q[1] == -13,
                 format("%s: below the floor", isa.name));
        const TernaryRow free = row(k.quantize_ternary_half_away, {1e-6f, -1e-6f, 0});
        t.expect(free.multiplier == 127.0f / 1e-6f && q[0] == 127 && q[1] == -127,
                 format("%s: no floor", isa.name));
        for (float tiny : {0.0f, -0.0f, 0x1p-149f})
          t.expect(
              row(k.quantize_ternary_half_away, {tiny, 0, tiny}).multiplier == 0 && q[0] == 0 && q[2] == 0,
              format("%s: nothing to scale", isa.name));
        for (float none : {NAN, INFINITY, -INFINITY}) {
          for (const auto quantize : {k.quantize_ternary, k.quantize_ternary_half_away})
            t.expect(!std::isfinite(row(quantize, {1, none, 2}).absmax) && q[0] == 0 && q[2] == 0,
                     format("%s: no number", isa.name));
        }
      });
    });

const unit::Unit gate_unit("oracle: relu_square_mul and rms_norm by their formulas", [](unit::Test& t) {
  const std::vector<float> g = {-3.0f, -0.0f, 0.0f, NAN, 2.0f, 1.5f, -1e30f, 3.0f, -2.0f},
                           u = {2, 2, 2, 2, -0.5f, 2, 2, 1, 1};
  const std::vector<float> gated = {0, 0, 0, 0, -2, 4.5f, 0, 9, 0};
  std::mt19937 random(32);
  const size_t n = 77;
  const std::vector<float> x = oracle::numbers(random, n), weight = oracle::numbers(random, n);
  double squares = 0;
  for (float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  const double r = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(1e-5f));
  for_each_isa([&](const Isa& isa) {
    std::vector<float> y(g.size()), normed(n);
    isa.kernels->relu_square_mul(g.data(), u.data(), g.size(), y.data());
    t.expect(y == gated, format("%s: relu_square_mul", isa.name));
    isa.kernels->rms_norm(x.data(), weight.data(), n, 1e-5f, normed.data());
    for (size_t i = 0; i < n; ++i) {
      const double truth = static_cast<double>(x[i]) * r * static_cast<double>(weight[i]);
      oracle::expect_near(t, isa.name, i, truth, normed[i],
                          (static_cast<double>(n) / 16 + 8) * oracle::kUnit * std::fabs(truth));
    }
  });
});

}  // namespace
