#pragma once
#include <cstddef>
#include <vector>

namespace spiked::head {

/// The first orthonormal directions of `n` vectors, strongest first: the (uncentred) principal components, by orthogonal iteration in f64.
/// Fewer come back when the vectors span less.
///
/// x  f64 [n, dim]
std::vector<std::vector<double>> main_directions(const std::vector<double>& x, size_t n, size_t dim,
                                                 size_t n_directions);

}  // namespace spiked::head
