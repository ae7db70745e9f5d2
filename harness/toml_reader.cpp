#include "harness/toml_reader.hpp"

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

#include <fstream>
#include <string>

namespace gsofa {

toml::table read_toml(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw input_error(file.string() + ": cannot be opened");
  try {
    return toml::parse(in, file.string());
  } catch (const toml::parse_error& e) {
    throw input_error(file.string() + ":" + std::to_string(e.source().begin.line) + ": " +
                      std::string(e.description()));
  }
}

}  // namespace gsofa

#endif
