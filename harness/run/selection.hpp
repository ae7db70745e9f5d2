#pragma once

#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/variant.hpp"

namespace gsofa {

/// The parts of `text` between commas; empty ones are left out.
std::vector<std::string> split_at_commas(const std::string& text);

/// A variant that was selected by its name, or by a pattern, a device or `all`.
struct selected_variant {
  const variant_info* info = nullptr;
  bool by_name = false;
};

/// The variants that words select, in the order of the words, each once. A word is a name, a shell
/// pattern such as gpu_maxid*, a device (cpu, gpu, mpi, peer), `all`, or several of them with
/// commas between them. Planted variants are selected by names, and by patterns that begin with
/// "planted". Variants that order the matrix themselves are selected by name only. Throws
/// input_error for a word that selects no variant.
std::vector<selected_variant> select_variants(const std::vector<std::string>& words);

/// Orders in the same way, as find_order() reads them: also NAME:OPTION=VALUE,OPTION=VALUE and
/// paths of permutation files, which are taken as they are.
struct selected_order {
  std::string spec;
  const order_info* info = nullptr;  ///< null for a file
  bool by_name = false;
};
std::vector<selected_order> select_orders(const std::vector<std::string>& words);

/// The words that select variants and orders, as --help explains them.
extern const char* const selection_words;

}  // namespace gsofa
