// The recorded cases of test/golden/bitnet, and of the larger set where it lies beside the checkout: codes and sums exactly, products within
// three roundings.
#include <filesystem>

#include "kernels/ternary.h"
#include "safetensors.h"

namespace {

using namespace ternary;
using spiked::format;

constexpr const char* kOwn = "test/golden/bitnet/kernel_cases.safetensors";
constexpr const char* kLarger = "../shared/golden-bitnet/kernel/kernel_cases.safetensors";

/// Rows whose recorded multiplier is not finite are zeros in ours and hold nothing else.
void check_codes(unit::Test& t, const std::string& what, const Codes& found, const std::vector<int8_t>& q,
                 const std::vector<float>& multiplier) {
  for (size_t row = 0; row < found.batch; ++row) {
    if (std::isfinite(multiplier[row]))
      t.expect(found.rows[row].multiplier == multiplier[row],
               format("%s row %zu: multiplier", what.c_str(), row));
    else
      t.expect(found.rows[row].multiplier == 0.0f, format("%s row %zu: expected zeros", what.c_str(), row));
  }
  for (size_t i = 0; i < q.size(); ++i)
    t.expect(found.q[i] == q[i],
             format("%s code %zu: expected %d, found %d", what.c_str(), i, q[i], found.q[i]));
}

void check_case(unit::Test& t, const Isa& isa, const Safetensors& golden, const std::string& name) {
  const Kernels& k = *isa.kernels;
  const std::string what = std::string(isa.name) + " " + name;
  const auto tensor = [&](const char* part) { return name + "." + part; };
  const std::vector<float> x = golden.values<float>(tensor("x"));
  const size_t batch = golden.shape(tensor("x"))[0], n_rows = golden.shape(tensor("D"))[1];
  const Codes even(k.quantize_ternary, x, batch);
  check_codes(t, what + " half-even", even, golden.values<int8_t>(tensor("q_even_floor")),
              golden.values<float>(tensor("s_floor")));
  check_codes(t, what + " half-away", Codes(k.quantize_ternary_half_away, x, batch),
              golden.values<int8_t>(tensor("q_away_nofloor")), golden.values<float>(tensor("s_nofloor")));

  t.expect(even.sums == golden.values<int32_t>(tensor("S")), what + ": S");
  const std::vector<uint8_t> w = golden.values<uint8_t>(tensor("w"));
  const std::vector<int32_t> d = golden.values<int32_t>(tensor("D"));
  const std::vector<float> found = dots(k, w, n_rows, even.q.data(), std::vector<int32_t>(batch), even.cols);
  for (size_t i = 0; i < d.size(); ++i)
    t.expect(found[i] == static_cast<float>(d[i]), format("%s D[%zu]: expected %d, found %g", what.c_str(), i,
                                                          d[i], static_cast<double>(found[i])));

  float rho;
  std::memcpy(&rho, w.data() + n_rows * even.cols / 4, sizeof rho);
  std::vector<float> y_scale, y(d.size());
  for (const TernaryRow& row : even.rows) y_scale.push_back(rho / row.multiplier);
  k.matmul_t2_i8(w.data(), even.q.data(), even.sums.data(), y_scale.data(), even.cols, batch, even.cols, 0,
                 n_rows, y.data(), n_rows);
  const std::vector<float> expected = golden.values<float>(tensor("y"));
  for (size_t i = 0; i < y.size(); ++i) {
    const double truth = static_cast<double>(expected[i]);  // itself rounded once
    oracle::expect_near(t, (what + " y").c_str(), i, truth, y[i], 3 * oracle::kUnit * std::fabs(truth));
  }
}

void check_cases(unit::Test& t, const char* path, size_t n_cases) {
  const Safetensors golden(path);
  const std::vector<std::string> cases = golden.cases();
  t.expect(cases.size() == n_cases, format("%s: expected %zu cases, found %zu", path, n_cases, cases.size()));
  for_each_isa([&](const Isa& isa) {
    for (const std::string& name : cases) check_case(t, isa, golden, name);
  });
}

const unit::Unit golden_unit("golden: ternary codes, sums and products of every recorded case",
                             [](unit::Test& t) {
                               check_cases(t, kOwn, 12);
                               if (std::filesystem::exists(kLarger)) check_cases(t, kLarger, 18);
                             });

}  // namespace
