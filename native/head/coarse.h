#pragma once
#include <vector>

#include "base/aligned.h"
#include "base/status.h"
#include "tensor/matrix.h"
#include "threads/pool.h"

namespace spiked::head {

/// Orthonormal directions that hidden states tend to lie along: of c in D dimensions, of the prior branch's g in D/4. May be empty; they
/// only tighten the bound.
struct Directions {
  std::vector<std::vector<double>> c, g;
};

/// Bits of a first pass's codes: 4 with a scale for each group of 32 columns, 8 with one for the row.
enum class TableBits : uint32_t { k4 = 4, k8 = 8 };

/// A head's first pass: what is read of every row instead of its stored weights.
///
/// With w the row's exact weights (output row, then prior_weight times the prior row), w = q + sum_i along_i u_i + rest: q the table's codes
/// and scales, u_i the directions, rest bounded by the norms of its two parts.
struct Coarse {
  /// Deterministic for given weights, bits and directions, whatever the number of workers. Rows that are not in memory are read in windows.
  /// Errors: RowFile::read's.
  static Result<Coarse> build(Pool& pool, const HeadWeights& weights, TableBits bits, Directions directions);

  bool usable = false;            ///< false when a weight is not finite or too large for an f16 scale
  Matrix table;                   ///< [V, c_cols + g_cols] panel_4x32_i4, or panel_4x32 of int8
  size_t c_cols = 0, g_cols = 0;  ///< padded widths of the two parts
  Directions directions;
  size_t rows_padded = 0;      ///< V in whole columns
  AlignedArray<float> along;   ///< [n_directions, rows_padded]: c's directions, then g's
  AlignedArray<float> rest_c;  ///< [rows_padded] at least the norm of rest in c's dimensions
  AlignedArray<float> rest_g;  ///< [rows_padded] likewise in g's; empty where g has none
  double max_norm = 0;         ///< at least the norm of any row's w, q and w - q

  size_t n_directions() const { return directions.c.size() + directions.g.size(); }
  /// Bytes that one pass over `rows` rows reads: of the table alone, and with what the bound needs.
  size_t table_bytes(size_t rows) const { return rows * (table.logical_bytes() / table.rows); }
  size_t scan_bytes(size_t rows) const;
  /// Of tables that build() would make, before it does.
  static size_t size_bytes(const HeadWeights& weights, TableBits bits, size_t n_directions);
  size_t size_bytes() const {
    return bytes.size() + (scales.size() + along.size() + rest_c.size() + rest_g.size()) * sizeof(float);
  }

  AlignedArray<uint8_t> bytes;  // the table's
  AlignedArray<float> scales;   // likewise, of int8
};

}  // namespace spiked::head
