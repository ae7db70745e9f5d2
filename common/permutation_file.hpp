#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// The integers that a file lists, and where they are.
struct number_list {
  std::string file;
  std::string form;                  ///< what the file was taken for, such as "a NumPy array"
  std::vector<std::int64_t> values;  ///< in the order of the file
  std::vector<offset_t> lines;       ///< of the values, from 1; empty for a NumPy array

  /// "FILE:LINE", or "FILE: entry K" of a NumPy array.
  [[nodiscard]] std::string place(std::size_t k) const;
};

/// Reads at most `at_most` integers, from text (separated by blanks, commas, semicolons or
/// brackets; # and % begin a comment; 3.0 and 3e0 are integers), a dense vector in Matrix Market
/// format, or a NumPy array (.npy) of integers. The content decides; it may be gzip'd. Throws
/// input_error that names file, line and word.
number_list read_numbers(const std::string& file, std::size_t at_most);

/// A permutation as a file gives it.
struct permutation_file {
  std::vector<index_t> order;  ///< old index by new position, from 0
  std::string form;            ///< what the file was taken for: form, base and direction, one line
};

/// Reads a permutation of n numbers from 0 or from 1, in any form of read_numbers(). The file holds
/// old numbers by new position; the other way round with `inverse`, and in a file of METIS, whose
/// name ends in .iperm. Throws input_error that names the first wrong place and its value.
permutation_file read_permutation_file(const std::string& file, index_t n, bool inverse = false);

}  // namespace gsofa
