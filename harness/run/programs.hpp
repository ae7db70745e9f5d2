#pragma once

#include <filesystem>

#include "common/pattern.hpp"

namespace gsofa {

/// From now on exec:COMMAND names an order, whose program reads {matrix} and writes {permutation},
/// or a variant, whose program reads {matrix} and writes {L} and {U}; {threads} is the number of
/// host threads. The matrix is a Matrix Market pattern; read_permutation_file() and read_factors()
/// read what the program writes. A program that fails ends its order or run with an error of one
/// line. harness/commands/README.md explains the notation, the limits and the times.
void accept_programs();

/// L (strictly lower) and U (with the diagonal).
struct factor_patterns {
  pattern l, u;
};

/// Reads L and U of a matrix of order n, each as read_matrix_file(); entries of L on the diagonal
/// are dropped. Without a file of U, U is the transpose of L. Checks nothing but the sizes. Throws
/// input_error that names the file.
factor_patterns read_factors(const std::filesystem::path& l_file,
                             const std::filesystem::path& u_file, index_t n);

}  // namespace gsofa
