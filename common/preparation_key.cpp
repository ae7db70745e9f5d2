#include "common/preparation_key.hpp"

#include <filesystem>
#include <system_error>

#include "common/command_methods.hpp"
#include "common/sha256.hpp"

namespace gsofa {

preparation_key key_of(const prepare_options& options) {
  if (is_command(options.order)) return {};  // the program may change
  const std::optional<order_request> method = find_order(options.order);
  const bool by_file = !method;
  std::error_code failure;
  if (by_file && !std::filesystem::is_regular_file(options.order, failure)) return {};
  preparation_key key{{"match", options.match},
                      {"order", options.order},
                      {"seed", std::to_string(options.seed)},
                      {"code", GSOFA_PREPARATION_VERSION}};
  auto add = [&key](const char* name, const std::string& value) {
    if (!value.empty()) key[name] = value;
  };
  if (options.match != match_none) add("match_library", matching_library());
  if (method) add("order_library", method->info->library);
  if (by_file) key["permutation"] = sha256_of_file(options.order);
  return key;
}

std::string generator_version() { return GSOFA_GENERATOR_VERSION; }

std::string difference(const preparation_key& wanted, const preparation_key& found) {
  std::string names;
  for (const auto& [name, value] : wanted) {
    const auto at = found.find(name);
    if (at == found.end() || at->second != value) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace gsofa
