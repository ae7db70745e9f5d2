// labels: oracle
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "common/digest.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"
#include "reference/verify_result.hpp"
#include "reference/worked_example.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;

// The matrices of golden/fill.tsv, by formulas that use no generator of the project.
std::map<std::string, pattern> golden_matrices() {
  std::map<std::string, pattern> m;
  m["worked_example"] = worked_example();
  m["order_1"] = from_rows({{0}});
  m["tridiagonal_20"] =
      from_predicate(20, [](index_t i, index_t j) { return i - j == 1 || j - i == 1; });
  m["arrow_forward_20"] = from_predicate(20, [](index_t i, index_t j) { return i == 0 || j == 0; });
  m["arrow_backward_20"] =
      from_predicate(20, [](index_t i, index_t j) { return i == 19 || j == 19; });
  m["dense_12"] = from_predicate(12, [](index_t, index_t) { return true; });
  m["upper_triangular_15"] = from_predicate(15, [](index_t i, index_t j) { return j > i; });
  m["ring_30"] = from_predicate(30, [](index_t i, index_t j) { return j == (i + 1) % 30; });
  m["five_point_grid_8"] = five_point_grid(8);
  // x <- (1103515245 x + 12345) mod 2^31 from x = 1, one step for each off-diagonal position in
  // row-major order; the position is an entry iff (x >> 16) mod 100 < 4.
  std::uint32_t x = 1;
  m["lcg_60"] = from_predicate(60, [&x](index_t, index_t) {
    x = (1103515245U * x + 12345U) & 0x7fffffffU;
    return (x >> 16) % 100U < 4U;
  });
  return m;
}

std::string row_of_table(const std::string& name, const pattern& a, const pattern& f) {
  const truth t = make_truth(f);
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(t.digest));
  std::ostringstream out;
  out << name << '\t' << a.n_rows << '\t' << a.nnz() << '\t' << t.nnz_l << '\t' << t.nnz_u << '\t'
      << digest << '\t' << t3_supernodes(f, 0).size() << '\t' << t3_supernodes(f, 8).size();
  return out.str();
}

}  // namespace

TEST_CASE("golden table: counts, digests and supernodes of small matrices") {
  std::ifstream in(GSOFA_SOURCE_DIR "/reference/golden/fill.tsv");
  REQUIRE(in.good());
  std::string line;
  REQUIRE(std::getline(in, line));
  CHECK(line == "matrix\tn\tnnz\tnnz_l\tnnz_u\tdigest\tsupernodes\tsupernodes_chunk_8");
  std::map<std::string, std::string> table;
  while (std::getline(in, line)) table[line.substr(0, line.find('\t'))] = line;
  const auto matrices = golden_matrices();
  CHECK(table.size() == matrices.size());
  for (const auto& [name, a] : matrices) {
    CHECK(table[name] == row_of_table(name, a, eliminate_boolean(a)));
    CHECK(table[name] == row_of_table(name, a, row_union(a)));
  }
}

TEST_CASE("golden digest: the hash of a position is the finalizer of splitmix64") {
  // First output of splitmix64 seeded with 0; position (0, 0).
  CHECK(entry_hash(0, 0) == 0xe220a8397b1dcdafULL);
  CHECK(entry_hash(1, 0) != entry_hash(0, 1));
}

}  // namespace gsofa::reference
