#include "common/preprocess.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "common/permutation_file.hpp"
#include "common/random.hpp"

using namespace gsofa;

namespace {

const std::filesystem::path bundled =
    std::filesystem::path(GSOFA_SOURCE_DIR) / "experiments/matrices";

pattern from_rows(const std::vector<std::vector<index_t>>& rows) {
  triplets t{static_cast<index_t>(rows.size()), static_cast<index_t>(rows.size()), {}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const index_t j : rows[i]) {
      t.rows.push_back(static_cast<index_t>(i));
      t.cols.push_back(j);
    }
  }
  return from_triplets(t, duplicates::reject);
}

}  // namespace

TEST_CASE("elimination tree of Liu's definition") {
  // parent(j) = min { i > j : chol(i, j) != 0 }, by explicit elimination.
  random_source random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const index_t n = static_cast<index_t>(random.between(1, 12));
    std::vector<std::vector<char>> m(static_cast<std::size_t>(n),
                                     std::vector<char>(static_cast<std::size_t>(n), 0));
    triplets t{n, n, {}, {}};
    for (std::size_t i = 0; i < m.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!random.chance(probability(0.25))) continue;
        m[i][j] = m[j][i] = 1;
        t.rows.insert(t.rows.end(), {static_cast<index_t>(i), static_cast<index_t>(j)});
        t.cols.insert(t.cols.end(), {static_cast<index_t>(j), static_cast<index_t>(i)});
      }
    }
    for (std::size_t k = 0; k < m.size(); ++k) {
      for (std::size_t i = k + 1; i < m.size(); ++i) {
        for (std::size_t j = k + 1; j < m.size(); ++j) {
          m[i][j] = static_cast<char>(m[i][j] | (m[i][k] & m[k][j]));
        }
      }
    }
    const auto parent = elimination_tree(from_triplets(t, duplicates::reject));
    for (std::size_t j = 0; j < m.size(); ++j) {
      index_t expected = -1;
      for (std::size_t i = m.size() - 1; i > j; --i) {
        if (m[i][j] != 0) expected = static_cast<index_t>(i);
      }
      CHECK(parent[j] == expected);
    }
    const auto post = postorder(parent);
    validate_permutation(post, n, "postorder");
    const auto place = inverse_permutation(post);
    for (std::size_t j = 0; j < m.size(); ++j) {
      if (parent[j] >= 0) CHECK(place[j] < place[static_cast<std::size_t>(parent[j])]);
    }
  }
}

#ifdef GSOFA_HAVE_BTF

TEST_CASE("the tree of a sum needs no sum; permuting again needs no new arrays") {
  std::mt19937_64 engine(5);
  permutation_workspace workspace;
  pattern out;
  for (int round = 0; round < 50; ++round) {
    const auto n = static_cast<index_t>(1 + engine() % 40);
    triplets entries{n, n, {}, {}};
    for (index_t k = 0; k < 2 * n; ++k) {
      entries.rows.push_back(static_cast<index_t>(engine() % static_cast<std::uint64_t>(n)));
      entries.cols.push_back(static_cast<index_t>(engine() % static_cast<std::uint64_t>(n)));
    }
    const pattern a = from_triplets(entries, duplicates::merge);
    CHECK(elimination_tree_of_sum(a, transpose(a)) ==
          elimination_tree(symmetrized(a, diagonal::drop)));
    std::vector<index_t> rows = identity_order(n), columns = rows;
    std::ranges::shuffle(rows, engine);
    std::ranges::shuffle(columns, engine);
    const pattern both = permute(a, rows, rows);
    CHECK(elimination_tree_of_sum(a, transpose(a), rows) ==
          elimination_tree_of_sum(both, transpose(both)));
    permute_into(a, rows, columns, workspace, out);
    validate(out, "permuted");
    REQUIRE(out.nnz() == a.nnz());
    for (index_t k = 0; k < n; ++k) {
      for (const index_t j : out.row(k)) {
        CHECK(std::ranges::binary_search(a.row(rows[at(k)]), columns[at(j)]));
      }
    }
    CHECK(workspace.transposed == transpose(out));
  }
}

TEST_CASE("matching gives a zero-free diagonal") {
  const pattern shifted = from_rows({{1}, {2}, {0, 2}});
  const auto matched = prepare(shifted, {match_auto, "natural", -1}, {});
  CHECK(count_missing_diagonal(matched.view()) == 0);
  CHECK(matched.view().nnz() == shifted.nnz());
  CHECK(matched.origin().match == "maximum");
  CHECK(matched.origin().diagonal_added == 0);
  const pattern again = permute(shifted, matched.row_order(), matched.col_order());
  CHECK(pattern_digest(again) == matched.digest());
}

TEST_CASE("two matchings contend where many factorizations use the order") {
  const pattern grid = generate("grid5:nx=40,ny=40");
  const pattern a = permute(grid, random_order(grid.n_rows, 1), identity_order(grid.n_rows));
  const auto matched = [&](const std::string& match, const std::string& order) {
    return match_and_order(a, {.match = match, .order = order});
  };
  const std::string often = "automatic:factorizations=1000";
  const ordered_pattern chosen = matched(match_auto, often);
  const ordered_pattern symmetric = matched("symmetric", often);
  CHECK(chosen.matching.how == "symmetric");
  CHECK(chosen.matching.matched.row_order == symmetric.matching.matched.row_order);
  CHECK(chosen.order.contested_s < matched("maximum", often).order.contested_s);
  CHECK(matched(match_auto, "automatic").matching.how == "maximum");
  CHECK(matched(match_auto, "amd").matching.how == "maximum");
}

TEST_CASE("a structurally singular matrix is refused with its rank") {
  provenance named;
  named.source = "m.mtx";
  CHECK_THROWS_WITH_AS(prepare(from_rows({{0}, {0}}), {match_auto, "natural", -1}, named),
                       "m.mtx: structurally singular: structural rank 1 of 2 (--match none adds "
                       "the missing diagonal entries instead)",
                       input_error);
}

TEST_CASE("block triangular form") {
  const block_structure one = block_triangular_form(from_rows({{0, 1}, {1, 2}, {0, 2}}));
  CHECK(one.blocks == 1);
  CHECK(one.largest == 3);
  const block_structure two = block_triangular_form(from_rows({{0, 1}, {0, 1, 2}, {2}}));
  CHECK(two.blocks == 2);
  CHECK(two.largest == 2);
  // INDEX of the collection: west2021 has 522 blocks, epb0 is irreducible.
  CHECK(block_triangular_form(read_matrix_file(bundled / "west2021.mtx.gz")).blocks > 500);
  CHECK(block_triangular_form(read_matrix_file(bundled / "epb0.mtx.gz")).blocks == 1);
}

#else

TEST_CASE("without SuiteSparse only a zero-free diagonal needs no matching") {
  CHECK(prepare(from_rows({{0}, {0, 1}}), {match_auto, "natural", -1}, {}).origin().match ==
        "kept");
  CHECK_THROWS_AS(prepare(from_rows({{1}, {0}}), {match_auto, "natural", -1}, {}),
                  unavailable_error);
  CHECK_THROWS_AS(block_triangular_form(from_rows({{0}})), unavailable_error);
}

#endif

TEST_CASE("without matching and in natural order the matrix only gets its diagonal") {
  const pattern shifted = from_rows({{1}, {2}, {0, 2}});
  const auto plain = prepare(shifted, {match_none, "natural", -1}, {});
  CHECK(plain.origin().diagonal_added == 2);
  CHECK(plain.origin().nnz_input == 4);
  CHECK(plain.view().nnz() == 6);
  CHECK_FALSE(plain.origin().postordered);
  CHECK(std::ranges::equal(plain.view().col_idx, with_diagonal(shifted).col_idx));
}

TEST_CASE("unusable matrices are refused in one line, and order 0 is prepared") {
  provenance named;
  named.source = "m.mtx";
  CHECK_THROWS_WITH_AS(prepare(pattern{2, 3, {0, 0, 0}, {}}, {}, named),
                       "m.mtx: the matrix is 2 x 3, not square", input_error);
  CHECK(prepare(pattern{}, {}, named).view().n_rows == 0);
  CHECK_THROWS_AS(prepare(from_rows({{0}}), {match_none, "best", -1}, named), input_error);
  CHECK_THROWS_WITH_AS(prepare(from_rows({{0}}), {match_none, "no/such.perm", -1}, named),
                       "no/such.perm: cannot open: No such file or directory", input_error);
}

TEST_CASE("orders are permutations; all but the natural one are postordered") {
  const pattern a = read_matrix_file(bundled / "sherman5.mtx.gz");
  for (const std::string& order : available_orders()) {
    CAPTURE(order);
    const auto p = prepare(a, {match_auto, order, -1}, {});
    validate_permutation(p.row_order(), a.n_rows, "rows");
    validate_permutation(p.col_order(), a.n_rows, "columns");
    CHECK(pattern_digest(permute(a, p.row_order(), p.col_order())) == p.digest());
    const bool chooses = order == default_order || order == "tournament";
    if (!chooses) CHECK(p.origin().order == order);
    if (order == "natural") continue;
    const auto parent = elimination_tree(symmetrized(p.view(), diagonal::drop));
    const auto post = postorder(parent);
    CHECK(std::ranges::is_sorted(post));
  }
}

TEST_CASE("order 1 and matrices without edges can be ordered") {
  for (const std::string& order : available_orders()) {
    for (index_t n : {1, 3}) {
      const pattern diagonal = generate("diagonal:n=" + std::to_string(n));
      CHECK(prepare(diagonal, {match_auto, order, -1}, {}).view().nnz() == n);
    }
  }
}

TEST_CASE("an order can come from a file") {
  const auto file = std::filesystem::temp_directory_path() / "gsofa_preprocess_test.perm";
  auto with = [&](const std::string& text) {
    std::ofstream(file) << text;
    return prepare(from_rows({{0, 2}, {1}, {2}}), {match_none, file.string(), -1}, {});
  };
  const auto p = with("# reverse\n2 1\n0\n");
  CHECK(p.origin().order == "file");
  CHECK_THROWS_AS(with("2 1\n"), input_error);
  CHECK_THROWS_AS(with("2 1 1\n"), input_error);
  CHECK_THROWS_AS(with("2 1 x\n"), input_error);
  CHECK_THROWS_AS(with("2 1 0 0\n"), input_error);
  std::filesystem::remove(file);
}

namespace {

// A NumPy array.
std::string npy_of(const std::string& type, const std::string& shape, const std::string& data) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         data;
}

}  // namespace

TEST_CASE("a permutation is read from each form that programs write") {
  const temporary_directory directory;
  auto read = [&](const std::string& name, const std::string& text, bool inverse = false) {
    const auto file = directory.path() / name;
    std::ofstream(file, std::ios::binary) << text;
    return read_permutation_file(file.string(), 4, inverse);
  };
  const std::vector<index_t> order{2, 0, 3, 1}, inverse{1, 3, 0, 2};
  const std::string market = "%%MatrixMarket matrix array integer general\n4 1\n3\n1\n4\n2\n";
  const std::pair<const char*, std::string> files[] = {
      {"text, numbers from 0", "# mine\n2\n0\n3\n1\n"},
      {"text, numbers from 1", "3.0e+00\n1.000\n4\n2\n"},
      {"text, numbers from 1", "[3, 1, 4, 2];\n"},
      {"a NumPy array, numbers from 0", npy_of("<i2", "(4,)", {"\2\0\0\0\3\0\1\0", 8})},
      {"a NumPy array, numbers from 1", npy_of(">u2", "(1, 4)", {"\0\3\0\1\0\4\0\2", 8})},
      {"a Matrix Market array, numbers from 1", market}};
  for (const auto& [form, text] : files) {
    CAPTURE(text);
    const permutation_file p = read("p", text);
    CHECK(p.order == order);
    CHECK(p.form == std::string(form) + ", old by new");
    CHECK(read("p", text, true).order == inverse);
    CHECK(read("graph.iperm", text).order == inverse);
  }
}

TEST_CASE("a file that holds no order is refused in one line") {
  const temporary_directory directory;
  const auto file = directory.path() / "order.perm";
  const pattern a = from_rows({{0, 2}, {1}, {2}});
  auto refusal = [&](const std::string& order) -> std::string {
    try {
      prepare(a, {match_none, order, -1}, {});
    } catch (const input_error& e) {
      return e.what();
    }
    return "accepted";
  };
  auto with = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
    const std::string what = refusal(file.string());
    return what.starts_with(file.string()) ? what.substr(file.string().size()) : what;
  };
  CHECK(refusal(directory.path().string()) == directory.path().string() + ": is a directory");
  // A file whose first byte cannot be read.
  CHECK(refusal("/proc/self/mem") == "/proc/self/mem: cannot read: Input/output error");
  const std::string endless = ": longer than 1048768 bytes, too long for the numbers of the matrix";
  CHECK(refusal("/dev/zero") == "/dev/zero" + endless);
  CHECK(with(std::string(30, '\0')) == ":1: '" + std::string(20, '?') + "...' is not an integer");
  CHECK(with("# reverse\r\n2 1\n\n% end\n x") == ":5: 'x' is not an integer");
  CHECK(with("2\n1\n0\n0\n") == ":4: more than 3 entries");
  CHECK(with("2\n1\n") == ": 2 entries for order 3");
  CHECK(with("2\n1\n99999999999") == ":3: 99999999999 is outside 0..2");
  CHECK(with("1\n3\n\n4\n") == ":4: 4 is outside 1..3");
  CHECK(with("2\n1.0\n1\n") == ":3: 1 occurs twice, first at " + file.string() + ":2");
  const std::string market = "%%MatrixMarket matrix array integer general\n";
  CHECK(with(market + "% c\n3 1\n2\n9\n0\n") == ":5: 9 is outside 0..2");
  CHECK(with(market + "4 1\n2\n1\n0\n") == ": not a Matrix Market array of one column");
  CHECK(with(npy_of("<f8", "(3,)", std::string(24, '\0'))).ends_with("does not hold integers"));
  CHECK(with(npy_of("|i1", "(3,)", {2, 1, 1})).starts_with(": entry 2: 1 occurs twice"));
  CHECK(with("2 1 0 #" + std::string(1000000, 'x')) == "accepted");
  CHECK(with("2 1 0" + std::string(2000000, '\n')) == endless);
  CHECK(with("2 1 0\n#" + std::string(2000000, 'x')) == endless);
}
