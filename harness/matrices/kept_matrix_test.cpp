#include "harness/matrices/kept_matrix.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "common/file.hpp"
#include "common/test_files.hpp"
#include "harness/matrices/matrix_source.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

const prepare_options natural{.match = match_none, .order = "natural", .seed = -1};

// A diagonal matrix.
std::string market(int n) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n" + std::to_string(n) +
                     " " + std::to_string(n) + " " + std::to_string(n) + "\n";
  for (int k = 1; k <= n; ++k) text += std::to_string(k) + " " + std::to_string(k) + "\n";
  return text;
}

std::filesystem::file_time_type written(const std::filesystem::path& file) {
  return std::filesystem::last_write_time(file);
}

}  // namespace

TEST_CASE("a kept matrix is used for the source that it was made from, and no other") {
  const temporary_directory directory;
  const auto kept = directory.path() / "kept";
  const auto source = (directory.path() / "m.mtx").string();
  put(source, market(3));
  CHECK(load_kept_matrix(kept, source, natural).view().n_rows == 3);
  const auto file = kept_file(kept, source, natural);
  REQUIRE(std::filesystem::exists(file));
  std::filesystem::last_write_time(file, written(file) - std::chrono::hours(1));
  const auto before = written(file);
  CHECK(load_kept_matrix(kept, source, natural).view().n_rows == 3);
  CHECK(written(file) == before);
  put(source, market(4));
  CHECK(load_kept_matrix(kept, source, natural).view().n_rows == 4);
  CHECK(written(file) != before);
}

TEST_CASE("each part of the key counts") {
  const temporary_directory directory;
  const std::string spec = "gen:diagonal:n=5";
  const auto file = kept_file(directory.path(), spec, natural);
  const prepared_pattern a = load_kept_matrix(directory.path(), spec, natural);
  for (const char* part : {"name", "source", "generator", "match", "order", "seed", "code"}) {
    CAPTURE(part);
    CHECK(a.origin().made_from.contains(part));
    prepared_pattern other = a;
    other.origin().made_from[part] = "another";
    other.origin().nnz_input = 12345;
    other.save(file);
    CHECK(load_kept_matrix(directory.path(), spec, natural).origin().nnz_input == 5);
    other.origin().made_from.erase(part);
    other.save(file);
    CHECK(load_kept_matrix(directory.path(), spec, natural).origin().nnz_input == 5);
  }
  prepared_pattern same = a;
  same.origin().nnz_input = 12345;
  same.save(file);
  CHECK(load_kept_matrix(directory.path(), spec, natural).origin().nnz_input == 12345);
  CHECK(key_of(natural) != key_of({.match = match_none, .order = "natural", .seed = 1}));
  for (const std::string& order : available_orders()) {
    const preparation_key key = key_of({.order = order});
    CHECK(key.at("order") == order);
    const std::string& library = find_order(order)->info->library;
    CHECK((library.empty() ? !key.contains("order_library") : key.at("order_library") == library));
  }
}

TEST_CASE("the content of an order file is part of the key") {
  const temporary_directory directory;
  const auto kept = directory.path() / "kept";
  const std::string spec = "gen:diagonal:n=3";
  const prepare_options how{
      .match = match_none, .order = (directory.path() / "p.perm").string(), .seed = -1};
  put(how.order, "2 1 0\n");
  CHECK(load_kept_matrix(kept, spec, how).col_order()[0] == 2);
  put(how.order, "1 2 0\n");
  CHECK(load_kept_matrix(kept, spec, how).col_order()[0] == 1);
}

TEST_CASE("what differs in its spec or its order differs in its file") {
  const auto file = [](const char* spec, const char* order = "natural") {
    return kept_file("kept", spec, {.order = order});
  };
  CHECK(file("west2021", "metis") == "kept/west2021.metis.bin");
  CHECK(file("a/b.mtx") != file("a_b.mtx"));
  CHECK(file("gen:grid5:nx=3") != file("gen_grid5_nx=3"));
  CHECK(file("gen:grid5:nx=3,ny=4") != file("gen:grid5:nx=3_ny=4"));
  CHECK(file("m", "a/b.perm") != file("m", "a_b.perm"));
  CHECK(file(std::string(500, 'x').c_str()).filename().string().size() < 255);
}

TEST_CASE("a kept file that is damaged is replaced, one that is something else is not") {
  const temporary_directory directory;
  const std::string spec = "gen:diagonal:n=5";
  const auto file = kept_file(directory.path(), spec, natural);
  load_kept_matrix(directory.path(), spec, natural);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  CHECK(load_kept_matrix(directory.path(), spec, natural).view().n_rows == 5);
  CHECK_NOTHROW(prepared_pattern::load(file));
  put(file, "");
  CHECK(load_kept_matrix(directory.path(), spec, natural).view().n_rows == 5);
  CHECK_NOTHROW(prepared_pattern::load(file));
  put(file, "notes");
  CHECK_THROWS_AS(load_kept_matrix(directory.path(), spec, natural), input_error);
  std::ifstream in(file);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "notes");
}
