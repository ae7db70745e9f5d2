#include "common/prepared.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/test_files.hpp"

namespace {

using namespace gsofa;
using namespace gsofa::testing;

pattern random_pattern(index_t n, int per_row, unsigned seed) {
  std::mt19937 random(seed);
  triplets t{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    t.rows.push_back(i);
    t.cols.push_back(i);
    for (int k = 0; k < per_row; ++k) {
      t.rows.push_back(i);
      t.cols.push_back(static_cast<index_t>(random() % static_cast<unsigned>(n)));
    }
  }
  return from_triplets(t, duplicates::merge);
}

std::vector<index_t> rotation(index_t n, index_t by) {
  std::vector<index_t> order;
  for (index_t k = 0; k < n; ++k) order.push_back((k + by) % n);
  return order;
}

provenance some_origin() {
  provenance p;
  p.name = "name \"quoted\" \xc3\xa9";
  p.source = "dir/a.mtx";
  p.sha256 = "00ff";
  p.stand_in = true;
  p.nnz_input = offset_t{1} << 40;
  p.diagonal_added = 3;
  p.match = "maximum";
  p.order = "metis";
  p.order_library = "METIS 5.1.0";
  p.seed = -1;
  p.postordered = true;
  p.prepare_seconds = 0.125;
  p.made_from = {{"source", "00ff"}, {"seed", "-1"}};
  return p;
}

std::string refusal(const pattern& a, const std::vector<index_t>& rows,
                    const std::vector<index_t>& cols) {
  try {
    const prepared_pattern p(a, rows, cols, {});
  } catch (const input_error& e) {
    return e.what();
  }
  return "accepted";
}

// The reason why a file with this content cannot be loaded.
std::string load_refusal(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::remove(file);
  std::ofstream(file, std::ios::binary) << bytes;
  try {
    prepared_pattern::load(file);
  } catch (const input_error& e) {
    const std::string message = e.what();
    REQUIRE(message.starts_with(file.string() + ": "));
    return message.substr(file.string().size() + 2);
  }
  return "accepted";
}

TEST_CASE("prepared pattern: holds what it was given, also when copied or moved") {
  const pattern a = random_pattern(20, 3, 1);
  prepared_pattern copy;
  {
    const prepared_pattern p(a, rotation(20, 3), rotation(20, 5), some_origin());
    copy = p;
  }
  const prepared_pattern moved = std::move(copy);
  CHECK(moved.view().n_rows == 20);
  CHECK(std::ranges::equal(moved.view().row_ptr, a.row_ptr));
  CHECK(std::ranges::equal(moved.view().col_idx, a.col_idx));
  CHECK(std::ranges::equal(moved.row_order(), rotation(20, 3)));
  CHECK(std::ranges::equal(moved.col_order(), rotation(20, 5)));
  CHECK(moved.digest() == pattern_digest(a));
}

TEST_CASE("prepared pattern: its conditions are enforced") {
  const pattern a = random_pattern(4, 2, 1);
  const std::vector<index_t> id = rotation(4, 0);
  CHECK(refusal(a, id, id) == "accepted");
  CHECK(refusal(a, {0, 1, 2}, id) == "prepared pattern: row order: 3 entries for order 4");
  CHECK(refusal(a, id, {0, 1, 1, 2}) == "prepared pattern: column order: 1 occurs twice");
  CHECK(refusal(a, id, {0, 1, 4, 2}) ==
        "prepared pattern: column order: entry 2 is 4, outside [0, 4)");
  pattern wide = a;
  wide.n_cols = 5;
  CHECK(refusal(wide, id, id) == "prepared pattern: not square: 4 x 5");
  const pattern hollow{2, 2, {0, 1, 2}, {1, 1}};
  CHECK(refusal(hollow, {0, 1}, {0, 1}) ==
        "prepared pattern: 1 of 2 diagonal entries are structurally zero");
  const pattern unsorted{2, 2, {0, 2, 3}, {1, 0, 1}};
  CHECK(refusal(unsorted, {0, 1}, {0, 1}) ==
        "prepared pattern: columns not strictly ascending in row 0");
}

TEST_CASE("prepared pattern: save and load give the same, aligned, for every order") {
  const temporary_directory directory;
  const auto file = directory.path() / "p";
  for (const index_t n : {0, 1, 2, 7, 15, 16, 17, 1000}) {
    const pattern a = n == 0 ? pattern{} : random_pattern(n, 3, static_cast<unsigned>(n));
    const index_t shift = n / 2;
    prepared_pattern p(a, rotation(n, shift), rotation(n, n / 3), some_origin());
    p.origin().name += std::string(static_cast<std::size_t>(n % 70), 'x');
    p.save(file);
    CHECK(prepared_pattern::is_prepared_file(file));
    for (const bool verify : {false, true}) {
      const prepared_pattern q = prepared_pattern::load(file, verify);
      CHECK(q.view().n_rows == n);
      CHECK(q.view().n_cols == n);
      CHECK(std::ranges::equal(q.view().row_ptr, a.row_ptr));
      CHECK(std::ranges::equal(q.view().col_idx, a.col_idx));
      CHECK(std::ranges::equal(q.row_order(), rotation(n, shift)));
      CHECK(std::ranges::equal(q.col_order(), rotation(n, n / 3)));
      CHECK(q.digest() == pattern_digest(a));
      CHECK(q.origin().name == p.origin().name);
      CHECK(q.origin().source == p.origin().source);
      CHECK(q.origin().sha256 == "00ff");
      CHECK(q.origin().stand_in);
      CHECK(q.origin().nnz_input == offset_t{1} << 40);
      CHECK(q.origin().diagonal_added == 3);
      CHECK(q.origin().match == "maximum");
      CHECK(q.origin().order == "metis");
      CHECK(q.origin().order_library == "METIS 5.1.0");
      CHECK(q.origin().seed == -1);
      CHECK(q.origin().postordered);
      CHECK(q.origin().prepare_seconds == 0.125);
      CHECK(q.origin().made_from == p.origin().made_from);
      for (const void* p_array : {static_cast<const void*>(q.view().row_ptr.data()),
                                  static_cast<const void*>(q.view().col_idx.data()),
                                  static_cast<const void*>(q.row_order().data())}) {
        CHECK(reinterpret_cast<std::uintptr_t>(p_array) % 64 == 0);
      }
    }
  }
}

TEST_CASE("prepared pattern: a file that is cut while it is in use changes nothing") {
  const temporary_directory directory;
  const auto file = directory.path() / "p";
  const prepared_pattern p = prepared_pattern(random_pattern(200, 3, 1), rotation(200, 1),
                                              rotation(200, 2), some_origin());
  p.save(file);
  const prepared_pattern q = prepared_pattern::load(file);
  std::filesystem::resize_file(file, 0);
  // Of a mapping every page would end the process by SIGBUS now.
  CHECK(pattern_digest(q.view()) == p.digest());
  CHECK(std::ranges::equal(q.col_order(), p.col_order()));
}

TEST_CASE("prepared pattern: a default one and one loaded from a file can be saved") {
  const temporary_directory directory;
  prepared_pattern().save(directory.path() / "empty");
  CHECK(prepared_pattern::load(directory.path() / "empty").view().n_rows == 0);
  const auto file = directory.path() / "p";
  prepared_pattern(random_pattern(50, 2, 1), rotation(50, 1), rotation(50, 2), some_origin())
      .save(file);
  const prepared_pattern p = prepared_pattern::load(file);
  const std::string before = content(file);
  p.save(file);  // over the file that is mapped
  CHECK(content(file) == before);
  CHECK(pattern_digest(p.view()) == p.digest());
}

TEST_CASE("prepared pattern: a name that is not UTF-8 does not prevent saving") {
  const temporary_directory directory;
  provenance origin = some_origin();
  origin.source = "bad \xff byte";
  origin.prepare_seconds = std::numeric_limits<double>::quiet_NaN();
  prepared_pattern(random_pattern(3, 1, 1), rotation(3, 0), rotation(3, 0), origin)
      .save(directory.path() / "p");
  const auto p = prepared_pattern::load(directory.path() / "p");
  CHECK(p.origin().source.starts_with("bad "));
  CHECK(p.origin().prepare_seconds == 0);
}

TEST_CASE("prepared pattern: every truncation and every changed byte is noticed") {
  const temporary_directory directory;
  const auto file = directory.path() / "p";
  const pattern a = random_pattern(12, 2, 5);
  prepared_pattern(a, rotation(12, 1), rotation(12, 2), some_origin()).save(file);
  const std::string good = content(file);
  CHECK(load_refusal(file, good) == "accepted");
  for (std::size_t k = 0; k < good.size(); ++k) {
    CHECK(load_refusal(file, good.substr(0, k)) != "accepted");
  }
  CHECK(load_refusal(file, good + '\0') != "accepted");
  int harmless = 0;
  for (std::size_t k = 0; k < good.size(); ++k) {
    std::string bad = good;
    bad[k] ^= 4;
    if (load_refusal(file, bad) == "accepted") {
      CHECK(good[k] == '\0');  // alignment gap
      ++harmless;
    }
  }
  CHECK(harmless < 4 * 63);
}

TEST_CASE("prepared pattern: refusals give the reason") {
  const temporary_directory directory;
  const auto file = directory.path() / "p";
  prepared_pattern(random_pattern(12, 2, 5), rotation(12, 1), rotation(12, 2), some_origin())
      .save(file);
  const std::string good = content(file);
  auto with = [&](std::size_t offset, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, sizeof value);
    return load_refusal(file, bad);
  };
  CHECK(load_refusal(file, "") == "not a prepared pattern, or truncated");
  CHECK(with(0, 'x') == "not a prepared pattern");
  CHECK(with(8, std::uint32_t{0x04030201}) == "written on a machine of another byte order");
  CHECK(with(12, std::uint32_t{99}) == "format version 99 is not 1; prepare the matrix again");
  const std::string size = std::to_string(good.size());
  for (const std::int64_t huge : {std::int64_t{-1}, std::int64_t{1} << 31, std::int64_t{1} << 62}) {
    CHECK(with(16, huge) ==
          "corrupt or truncated: its header does not fit a file of " + size + " bytes");
    CHECK(with(24, huge) ==
          "corrupt or truncated: its header does not fit a file of " + size + " bytes");
    CHECK(with(32, huge) ==
          "corrupt or truncated: its header does not fit a file of " + size + " bytes");
  }
  CHECK(with(16, std::int64_t{500})
            .starts_with("corrupt or truncated: " + size + " bytes instead of "));
  CHECK(with(40, std::uint64_t{0}) == "corrupt: the digest of its pattern does not match");
  CHECK(with(48, std::uint64_t{0}) ==
        "corrupt: the checksum of its provenance and orders does not match");
  CHECK(with(64, '[') == "its provenance is not a JSON object");
  CHECK_THROWS_AS(prepared_pattern::load(directory.path() / "absent"), input_error);
  CHECK_THROWS_AS(prepared_pattern::load(directory.path()), input_error);
  CHECK_FALSE(prepared_pattern::is_prepared_file(directory.path() / "absent"));
  CHECK_FALSE(prepared_pattern::is_prepared_file(directory.path()));
  std::ofstream(file, std::ios::binary) << "gSoFa";
  CHECK_FALSE(prepared_pattern::is_prepared_file(file));
}

TEST_CASE("prepared pattern: a provenance may lack what it was made from") {
  provenance origin = some_origin();
  const auto with = [&](const std::string& made_from) {
    std::string text = to_json(origin);
    const std::string whole = R"("made_from":{"seed":"-1","source":"00ff"},)";
    REQUIRE(text.find(whole) != std::string::npos);
    return from_json(text.replace(text.find(whole), whole.size(), made_from), "p").made_from;
  };
  CHECK(with("").empty());
  CHECK(with(R"("made_from":{"seed":"1"},)").at("seed") == "1");
  for (const char* wrong : {R"("made_from":{"seed":1},)", R"("made_from":["seed"],)"}) {
    CHECK_THROWS_WITH_AS(with(wrong), "p: its provenance lacks a valid 'made_from'", input_error);
  }
}

}  // namespace
