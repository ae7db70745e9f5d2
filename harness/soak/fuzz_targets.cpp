#include "harness/soak/fuzz_targets.hpp"

#include <sstream>

#include "harness/soak/fuzz_support.hpp"

namespace gsofa::soak {

namespace {

// A fault for the tests of the fuzzer: texts with two words and a third that begins with 4.
std::string read_planted(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  std::string a, b, c;
  in >> a >> b >> c;
  require(!c.starts_with('4'), "the planted property");
  return a.empty() ? "no word" : "";
}

texts planted_seeds() { return {"one two three"}; }

}  // namespace

const std::vector<fuzz_target>& fuzz_targets() {
  static const std::vector<fuzz_target> all = [] {
    std::vector<fuzz_target> list;
    for (const auto& part : {matrix_targets(), file_targets(), text_targets()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    list.push_back({"planted_fault", planted_seeds, read_planted});
    return list;
  }();
  return all;
}

}  // namespace gsofa::soak
