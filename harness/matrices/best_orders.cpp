#include "harness/matrices/best_orders.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/run/build_info.hpp"

namespace gsofa {

std::optional<best_order> best_known_order(const std::string& sha256) {
  const auto folder = repository_root() / "experiments" / "suites" / "best";
  std::ifstream table(folder / "best.tsv");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string name, digest, operations, order, seed;
    for (std::string* field : {&name, &digest, &operations, &order, &seed}) {
      std::getline(fields, *field, '\t');
    }
    if (digest != sha256) continue;
    best_order best{.operations = std::strtod(operations.c_str(), nullptr),
                    .made_by = "--order " + order + (seed == "-1" ? "" : " --seed " + seed),
                    .file = folder / (name + ".perm.gz")};
    if (!std::filesystem::is_regular_file(best.file)) best.file.clear();
    return best;
  }
  return std::nullopt;
}

}  // namespace gsofa
