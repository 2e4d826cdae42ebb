#pragma once
#include <vector>

#include "base/aligned.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"
#include "measure/peak_rate.h"
#include "threads/pool.h"

namespace spiked::measure {

inline constexpr size_t kWidth = 1536;     // columns of a panel matrix, rows of a column-major one
inline constexpr size_t kTokens = 32;      // of a batch
inline constexpr size_t kBatchRows = 512;  // weights that fit a cache
inline constexpr size_t kActiveEach = 4;   // one column in four is active, on average

/// Made-up weights of one type, and what the kernels need beside them.
struct Operands {
  /// The pool's workers write the weights. Throws std::bad_alloc.
  Operands(Weights type, size_t size_bytes, Pool& pool, const kernels::Kernels& k);

  size_t rows;              ///< of a panel or row matrix; columns of a column-major one
  AlignedArray<uint8_t> w;  ///< panels of [rows, kWidth], f16 or t2 rows of kWidth, or columns [rows][kWidth]
  AlignedArray<float> scale;  // [max(rows, kWidth)]
  AlignedArray<float> x;      // [kTokens, kWidth]
  AlignedArray<int8_t> q8;    // [kTokens, kWidth]
  AlignedArray<int16_t> q16;  // [kTokens, kWidth]
  float scale8[kTokens], scale16[kTokens];
  int32_t sum8[kTokens];         ///< of each row of q8
  std::vector<uint32_t> active;  // of the columns
  AlignedArray<float> column_x;  // [rows]

  template <typename T>
  const T* weights() const {
    return reinterpret_cast<const T*>(w.data());
  }
};

}  // namespace spiked::measure
