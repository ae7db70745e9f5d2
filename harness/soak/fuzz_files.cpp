#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "harness/soak/fuzz_support.hpp"

namespace gsofa::soak {

namespace {

namespace fs = std::filesystem;

texts prepared_seeds() {
  const fs::path file = scratch_folder() / "seed";
  texts seeds;
  prepared_pattern(sample(), {5, 4, 3, 2, 1, 0}, {0, 2, 4, 1, 3, 5}, sample_origin()).save(file);
  seeds.push_back(content_of(file));
  prepared_pattern(generate("diagonal:n=1"), {0}, {0}, {}).save(file);
  seeds.push_back(content_of(file));
  return seeds;
}

std::string read_prepared(std::string_view bytes) {
  const fs::path& file = scratch_file(bytes);
  const bool verified = chance(bytes) % 2 == 0;
  try {
    const prepared_pattern p = prepared_pattern::load(file, verified);
    require(prepared_pattern::is_prepared_file(file), "a file that loads has the magic bytes");
    validate(p.view(), "loaded file");
    validate_permutation(p.row_order(), p.view().n_rows, "row order");
    validate_permutation(p.col_order(), p.view().n_rows, "column order");
    require(count_missing_diagonal(p.view()) == 0, "a prepared pattern has its diagonal");
    if (verified) {
      require(pattern_digest(p.view()) == p.digest(), "the digest is that of the pattern");
      const fs::path copy = scratch_folder() / "copy";
      p.save(copy);
      const prepared_pattern again = prepared_pattern::load(copy);
      require(again.digest() == p.digest() && to_json(again.origin()) == to_json(p.origin()),
              "what was loaded can be saved and loaded");
    }
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

std::string read_provenance(std::string_view bytes) {
  try {
    const std::string text = to_json(from_json(bytes, "fuzz"));
    require(to_json(from_json(text, "again")) == text, "a provenance comes back as it was written");
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts provenance_seeds() { return {to_json(sample_origin()), to_json({}), "{\"name\": 1e400}"}; }

std::string read_generator(std::string_view bytes) {
  const std::string spec(bytes);
  try {
    const pattern a = generate(spec);
    validate(a, "generated pattern");
    require(a.n_rows == a.n_cols, "a generated pattern is square");
    if (chance(bytes) % 4 == 0) require(generate(spec) == a, "a generator is deterministic");
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts generator_seeds() {
  texts seeds{"random:n=2147483647,degree=1", "grid7:nx=46341,ny=46341,nz=1", "diagonal:n=0",
              "dense:n=65536"};
  for (const generator_info& g : generators()) {
    // "nx=.. drop=0 element=hex1(hex1|tet1)": required ones become 3.
    std::string spec = g.name + ":";
    std::string item;
    std::istringstream in(g.parameters);
    while (in >> item) {
      item.resize(std::min(item.size(), item.find('(')));
      if (item.ends_with("..")) item.replace(item.size() - 2, 2, "3");
      const std::string value = item.substr(item.find('=') + 1);
      if (value.find_first_not_of("0123456789.") != std::string::npos && value.size() < 3) continue;
      spec += (spec.back() == ':' ? "" : ",") + item;
    }
    seeds.push_back(spec);
  }
  return seeds;
}

std::string read_order(std::string_view bytes) {
  try {
    const ordering o = compute_order(sample(), scratch_file(bytes).string(), -1);
    validate_permutation(o.order, sample().n_rows, "order");
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts order_seeds() {
  const char array[] =
      "\x93NUMPY\1\0:\0{'descr': '|i1', 'fortran_order': False, 'shape': (6,), }\n\5\4\3\2\1";
  return {"0\n1\n2\n3\n4\n5\n", "# comment\n5 4 3\n% more\n2 1 0", "0 0 1",
          "%%MatrixMarket matrix array integer general\n6 1\n1\n2\n3\n4\n5\n6\n",
          std::string(array, sizeof array)};
}

}  // namespace

std::vector<fuzz_target> file_targets() {
  return {{"prepared", prepared_seeds, read_prepared},
          {"provenance", provenance_seeds, read_provenance},
          {"order", order_seeds, read_order},
          {"generator", generator_seeds, read_generator}};
}

}  // namespace gsofa::soak
