#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/aligned.h"
#include "kernels/oracle.h"

/// Ternary products as a caller makes them, on every ISA.
namespace ternary {

using spiked::kernels::Isa;
using spiked::kernels::Kernels;
using spiked::kernels::TernaryRow;

/// Every supported ISA; SPIKED_FORCE_ISA narrows them to one.
template <typename Check>
void for_each_isa(Check check) {
  const char* forced = std::getenv("SPIKED_FORCE_ISA");
  for (const Isa& isa : spiked::kernels::isas()) {
    if (!isa.supported || (forced != nullptr && *forced != '\0' && std::string_view(forced) != isa.name))
      continue;
    check(isa);
  }
}

/// A batch of activations, quantised.
struct Codes {
  Codes(spiked::kernels::QuantizeTernary quantize, const std::vector<float>& x, size_t n_batch)
      : batch(n_batch), cols(x.size() / n_batch), q(x.size()), rows(n_batch), sums(n_batch) {
    for (size_t t = 0; t < batch; ++t) {
      rows[t] = quantize(x.data() + t * cols, cols, q.data() + t * cols);
      sums[t] = rows[t].sum;
    }
  }
  size_t batch, cols;
  spiked::AlignedArray<int8_t> q;
  std::vector<TernaryRow> rows;
  std::vector<int32_t> sums;
};

/// D of [batch, n_rows] when `sums` is zeros, D - S otherwise; as floats, which hold them exactly.
inline std::vector<float> dots(const Kernels& k, const std::vector<uint8_t>& w, size_t n_rows,
                               const int8_t* q, const std::vector<int32_t>& sums, size_t cols) {
  const size_t batch = sums.size();
  const std::vector<float> ones(batch, 1.0f);
  std::vector<float> y(batch * n_rows);
  k.matmul_t2_i8(w.data(), q, sums.data(), ones.data(), cols, batch, cols, 0, n_rows, y.data(), n_rows);
  return y;
}

/// Codes u[rows * cols] as t2 bytes, by docs/numerics.md: byte p of a block holds columns p, p + 32, p + 64, p + 96 from the top.
inline std::vector<uint8_t> pack(const std::vector<int>& u) {
  std::vector<uint8_t> w(u.size() / 4);
  for (size_t i = 0; i < w.size(); ++i) {
    const int* block = &u[i / 32 * 128 + i % 32];
    w[i] = static_cast<uint8_t>(block[0] << 6 | block[32] << 4 | block[64] << 2 | block[96]);
  }
  return w;
}

}  // namespace ternary
