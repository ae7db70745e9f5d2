#include "common/matrix_file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/archive_reader.hpp"
#include "common/matrix_archives.hpp"
#include "common/sha256.hpp"
#include "common/test_matrices.hpp"

namespace {

using namespace gsofa;
using namespace gsofa::testing;

const std::string diagonal_of_two =
    "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n";
const pattern two_on_diagonal = pattern_at(2, 2, {{0, 0}, {1, 1}});

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t k = 0; k + 1 < digits.size(); k += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(k, 2), nullptr, 16));
  }
  return bytes;
}

// diagonal_of_two by xz, bzip2 and zstd.
const std::string by_xz = from_hex(
    "fd377a585a000004e6d6b446020021010c0000008f98419ce0003e003b5d0012894627aa39feb8f739da1be99fed52"
    "49571983cf18a132fcfe84d6e861c76fe98e190dcf43fd1a789c210c20833a81e4105adee7d6d40914f0000000be0d"
    "6fac40c6a6d00001573f85531a631fb6f37d010000000004595a");
const std::string by_bzip2 = from_hex(
    "425a6839314159265359be4beeab0000065d8000104200300000022eafd440200048a792686a3261941a9a06834346"
    "4a4a990671b8cd99889002a91edfa62ebe72c5d7b59f10be9e150b039028942a3e2ee48a70a1217c97dd56");

const std::string by_zstd = from_hex(
    "28b52ffd243ff9010025254d61747269784d61726b6574206d617472697820636f6f7264696e617465207061747465"
    "7"
    "26e2067656e6572616c0a32203220320a3120310a3220320adb6b4ebb");

// Without libarchive, archives are refused by a line that says so.
bool archives_are_read(const matrix_scratch& s) {
  const std::string why = archive_reader::unavailable();
  if (why.empty()) return true;
  for (const std::string& bytes : sample_archives()) CHECK(s.refusal(bytes).ends_with(why));
  for (const std::string& bytes : {by_xz, by_bzip2}) CHECK(s.refusal(bytes).ends_with(why));
  return false;
}

// --- Harwell-Boeing ----------------------------------------------------------------------------

// Lower triangle, with repeated entry (3, 1).
std::string harwell_boeing(const std::string& type, const std::string& tail) {
  return "A title                                                                 KEY     \n"
         "             5             1             2             " +
         std::string(tail.empty() ? "0" : "2") + "             0\n" + type +
         "                        3             3             6             0\n"
         "(4I3)           (3I4)           (3E12.4)            (3E12.4)            \n"
         "  1  4  5  7\n"
         "   1   3   3\n   2   3   3\n" +
         tail;
}
const std::string three_values = " 1.0000E+00         nan  2.0000E+00\n  1.0D+00 2 3\n";

TEST_CASE("Harwell-Boeing: every kind of values and of symmetry, cases and line ends") {
  const matrix_scratch s;
  const pattern lower = pattern_at(3, 3, {{0, 0}, {2, 0}, {1, 1}, {2, 2}});
  const pattern full = pattern_at(3, 3, {{0, 0}, {2, 0}, {0, 2}, {1, 1}, {2, 2}});
  matrix_file_header h;
  for (const char* type : {"RUA", "CUA", "IUA", "rua", "Rra"}) {
    CHECK(s.read(harwell_boeing(type, three_values), &h) == lower);
    CHECK(h.symmetry == "general");
  }
  CHECK(h.format == matrix_format::harwell_boeing);
  CHECK(h.stored_entries == 6);
  CHECK(h.sha256 == sha256_hex(harwell_boeing("Rra", three_values)));
  for (const char* type : {"RSA", "CHA", "rza", "csa"}) {
    CHECK(s.read(harwell_boeing(type, three_values)) == full);
  }
  CHECK(s.read(harwell_boeing("PUA", ""), &h) == lower);
  CHECK(h.field == "pattern");
  CHECK(s.read(harwell_boeing("psa", "")) == full);
  CHECK(s.read(harwell_boeing("qua", three_values)) == lower);
  std::string text = harwell_boeing("RUA", three_values);
  for (std::size_t k = 0; (k = text.find('\n', k)) != text.npos; k += 2) text.replace(k, 1, "\r\n");
  CHECK(s.read(text) == lower);
  CHECK(s.read(gzip(text)) == lower);
}

TEST_CASE("Harwell-Boeing: right-hand sides, formats, rectangular, Rutherford-Boeing") {
  const matrix_scratch s;
  const auto read = [&](const std::string& counts, const std::string& sizes,
                        const std::string& formats, const std::string& body) {
    return s.read("title\n" + counts + "\n" + sizes + "\n" + formats + "\n" + body);
  };
  const pattern wide = pattern_at(2, 3, {{0, 0}, {1, 1}, {0, 2}, {1, 2}});
  // Right-hand sides with starting guesses.
  CHECK(read("9 1 1 1 4", "RUA 2 3 4 0", "(4I3) (10I1) (4F3.0) (2F3.0)",
             "FGX 2 0\n  1  2  3  5\n1212\n1. 2. 3. 4.\n1.\n2.\n3.\n4.\n") == wide);
  // Rutherford-Boeing: four counts and three formats; fields side by side, and in groups.
  CHECK(read("4 1 1 2", "rra 2 3 4 0", "(26I3) (40I2) (3E26.18)",
             "  1  2  3  5\n 1 2 1 2\n1 2 3\n4\n") == wide);
  CHECK(read("2 1 1 0", "pra 2 3 4 0", "(2(1X,I2),2I3.3) (4I1)", "  1  2003005\n1212\n") == wide);
  CHECK(read("2 1 1", "PRA 2 3 4", "( 4 i 3 ) (4I1)", "  1  2  3  5\n1212\n") == wide);
  CHECK(read("1 1 0 0", "PUA 0 0 0 0", "(4I3) (4I3)", "  1\n") == pattern_at(0, 0, {}));
}

TEST_CASE("Harwell-Boeing: faults are named with file, line and reason") {
  const matrix_scratch s;
  const std::string good = harwell_boeing("RUA", three_values);
  CHECK(s.refusal(harwell_boeing("RSE", three_values)) ==
        ":3: type RSE: the matrix is not assembled (elemental); only assembled matrices are read");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t begin = text.find(from);
    REQUIRE(begin != text.npos);
    return s.refusal(text.replace(begin, from.size(), to));
  };
  CHECK(changed("(4I3)", "(4F3)") ==
        ":4: the format of the pointers, '(4F3)', is not one of integers such as (16I5)");
  CHECK(changed("(3I4)", "(((((I4)").starts_with(":4: the format of the indices"));
  CHECK(changed("(3I4)", "(99(99I4))").starts_with(":4: "));
  CHECK(changed("  1  4  5  7", "  0  4  5  7") == ":5: the first pointer is 0, not 1");
  CHECK(changed("  1  4  5  7", "  1  4  3  7") == ":5: pointer 3 is outside 4..7");
  CHECK(changed("  1  4  5  7", "  1  4  5  8") == ":5: pointer 8 is outside 5..7");
  CHECK(changed("  1  4  5  7", "  1  4  5  6") ==
        ":5: the last pointer is 6, but 6 entries are declared");
  CHECK(changed("  1  4  5  7", "  1  4 x5  7") ==
        ":5: columns 7..9 hold 'x5' instead of one of the pointers");
  CHECK(changed("   2   3   3", "   2   4   3") == ":7: row index 4 is outside 1..3");
  CHECK(changed("   2   3   3", "   2   0   3") ==
        ":7: row index 0 is outside 1..3 (indices are 1-based)");
  CHECK(changed("   2   3   3", "   2   3    ") ==
        ":7: columns 9..12 hold '' instead of one of the row indices");
  CHECK(changed("RUA                        3", "RSA                        4") ==
        ":3: symmetric but not square: 4 x 3");
  CHECK(changed(" 3             3 ", " 3000000000     3 ") ==
        ":3: dimension 3000000000 exceeds 2^31 - 1");
  // Cut after any number of lines.
  std::size_t end = good.size();
  for (const char* message : {":8: the file ends after 1 of the 2 lines of values",
                              ":7: the file ends after 0 of the 2 lines of values",
                              ":6: the file ends after 3 of the 6 row indices",
                              ":5: the file ends after 0 of the 6 row indices",
                              ":4: the file ends after 0 of the 4 pointers"}) {
    end = good.rfind('\n', end - 2) + 1;
    CHECK(s.refusal(good.substr(0, end)) == message);
  }
  CHECK(s.refusal(good.substr(0, good.find("(4I3)"))).starts_with(":1: no %%MatrixMarket banner"));
}

// --- .npz --------------------------------------------------------------------------------------

const npy_member shape_34 = integers("shape", "<i8", {3, 4});

TEST_CASE(".npz of scipy.sparse: csr and csc, stored and deflated, in integers of any kind") {
  const matrix_scratch s;
  if (!archives_are_read(s)) return;
  const pattern expected = pattern_at(3, 4, {{0, 1}, {0, 3}, {2, 0}});
  for (const char* type : {"<i4", "<i8", ">i4", "<u8", "<i2", "|u1"}) {
    for (const bool deflated : {false, true}) {
      matrix_file_header h;
      const auto members = std::vector<npy_member>{
          integers("indices", type, {3, 1, 0, 1}), integers("indptr", type, {0, 2, 2, 4}),
          text_array("format", "csr"), shape_34, doubles("data", {4})};
      CHECK(s.read(npz(members, deflated), &h) ==
            pattern_at(3, 4, {{0, 1}, {0, 3}, {2, 0}, {2, 1}}));
      CHECK(h.format == matrix_format::scipy_npz);
      CHECK(h.field == "real");
      CHECK(h.stored_entries == 4);
      std::string contents;
      for (const auto& m : members) contents += m.bytes;
      CHECK(h.sha256 == sha256_hex(contents));
      CHECK(sha256_of_matrix_file(s.file()) == h.sha256);
      CHECK(s.read(npz(
                {shape_34, text_array("format", "csc"), integers("indptr", type, {0, 1, 2, 2, 4}),
                 integers("indices", type, {2, 0, 0, 0})},
                deflated)) == expected);
    }
  }
}

TEST_CASE(".npz of scipy.sparse: coo, bsr and dia") {
  const matrix_scratch s;
  if (!archives_are_read(s)) return;
  CHECK(s.read(npz({integers("row", "<i4", {2, 0, 2}), integers("col", "<i4", {0, 3, 0}),
                    text_array("format", "coo"), shape_34},
                   true)) == pattern_at(3, 4, {{0, 3}, {2, 0}}));
  CHECK(s.read(npz({integers("indptr", "<i4", {0, 0, 1}), integers("indices", "<i4", {1}),
                    doubles("data", {1, 1, 2}), integers("shape", "<i8", {2, 4}),
                    text_array("format", "bsr")},
                   true)) == pattern_at(2, 4, {{1, 2}, {1, 3}}));
  // Column j of a diagonal of the data is the entry in column j; some lie outside the matrix.
  CHECK(s.read(npz({integers("offsets", "<i4", {0, 2, -1, 7, -3}), doubles("data", {5, 3}),
                    text_array("format", "dia"), shape_34},
                   true)) == pattern_at(3, 4, {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {0, 2}, {2, 2}}));
  CHECK(s.read(npz({integers("indptr", "<i4", {0}), integers("indices", "<i4", {}),
                    text_array("format", "csr"), integers("shape", "<i8", {0, 0})},
                   true)) == pattern_at(0, 0, {}));
}

TEST_CASE(".npz: faults are named") {
  const matrix_scratch s;
  if (!archives_are_read(s)) return;
  const auto csr = [&](const npy_member& indptr, const npy_member& indices) {
    return s.refusal(npz({indices, indptr, text_array("format", "csr"), shape_34}, true));
  };
  const auto i4 = [](const char* name, const std::vector<std::int64_t>& v) {
    return integers(name, "<i4", v);
  };
  CHECK(csr(i4("indptr", {0, 1, 2}), i4("indices", {0, 1})) ==
        ": indptr has 3 numbers instead of 4");
  CHECK(csr(i4("indptr", {0, 1, 2, 3}), i4("indices", {0, 1})) ==
        ": indptr does not ascend from 0 to at most 2, the number of indices");
  CHECK(csr(i4("indptr", {0, 2, 1, 2}), i4("indices", {0, 1})).starts_with(": indptr does not"));
  CHECK(csr(i4("indptr", {0, 1, 1, 2}), i4("indices", {0, 4})) ==
        ": entry 1: column 4 is outside 0..3");
  CHECK(csr(i4("indptr", {0, 1, 1, 2}), i4("indices", {-1, 0})) ==
        ": entry 0: column -1 is outside 0..3");
  CHECK(csr(i4("indptr", {0, 0, 0, 0}), doubles("indices", {0})) == ": indices is not of integers");
  CHECK(csr(i4("pointers", {0}), i4("indices", {})) == ": has no array indptr");
  // Claims more than there is.
  npy_member large = i4("indices", {0});
  large.bytes.replace(large.bytes.find("(1,)"), 4, "(9,)");
  CHECK(csr(i4("indptr", {0, 0, 0, 1}), large) ==
        ": indices.npy: has 4 bytes of data instead of 36");
  CHECK(s.refusal(npz({text_array("format", "lil"), shape_34}, true)) ==
        ": format 'lil' is not supported; expected one of csr, csc, coo, bsr, dia");
  CHECK(s.refusal(npz({text_array("format", "coo"), integers("shape", "<i8", {3})}, true)) ==
        ": the array has 1 dimensions; a matrix has 2");
  CHECK(s.refusal(npz({doubles("A", {2, 2}), doubles("b", {2})}, true)) ==
        ": is a .npz file, but not of scipy.sparse.save_npz; it has A.npy, b.npy");
  const std::string good = npz(
      {i4("indices", {}), i4("indptr", {0, 0, 0, 0}), text_array("format", "csr"), shape_34}, true);
  CHECK(s.refusal(good.substr(0, good.size() / 2)).starts_with(": corrupt or truncated .zip"));
  CHECK(s.refusal("PK\x03\x04 not a zip").starts_with(": corrupt or truncated .zip"));
  // A diagonal of a matrix that is too large for the limit.
  CHECK(s.refusal(
             npz({integers("offsets", "<i4", {0, 1}), integers("shape", "<i8", {1000000, 1000000}),
                  npy_member{"data", npy("|V0", "(2, 1000000)", "")}, text_array("format", "dia")},
                 true),
             4 << 20)
            .starts_with(": out of memory: 1000000 x 1000000 needs"));
}

// --- archives ----------------------------------------------------------------------------------

TEST_CASE("compressed files are told by content") {
  const matrix_scratch s;
  if (!archives_are_read(s)) return;
  matrix_file_header h;
  for (const std::string& bytes :
       {diagonal_of_two, gzip(diagonal_of_two), by_xz, by_bzip2, by_zstd}) {
    CHECK(s.read(bytes, &h) == two_on_diagonal);
    CHECK(h.sha256 == sha256_hex(diagonal_of_two));
    CHECK(sha256_of_matrix_file(s.file()) == h.sha256);
  }
  CHECK(
      s.refusal(by_xz.substr(0, by_xz.size() / 2)).starts_with(": corrupt or truncated .xz file"));
  CHECK(s.refusal(by_bzip2.substr(0, by_bzip2.size() / 2))
            .starts_with(": corrupt or truncated .bz2 file"));
  CHECK(s.refusal(gzip(gzip(diagonal_of_two))) == ": is compressed twice; gunzip it once");
  CHECK(s.refusal(gzip("")) == ": empty file");
  CHECK(s.refusal(gzip(diagonal_of_two).substr(0, 40)) == ": truncated gzip data");
}

TEST_CASE("the matrix in an archive is that of the folder's name, or the only one") {
  const matrix_scratch s;
  if (!archives_are_read(s)) return;
  const std::string other = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";
  matrix_file_header h;
  const std::string collection = tar({{"a/a_b.mtx", other},
                                      {"a/a.mtx", diagonal_of_two},
                                      {"a/c.mtx", other},
                                      {"a/README", "text"}});
  for (const std::string& bytes :
       {collection, gzip(collection), tar({{"x_b.mtx", other}, {"x.mtx", diagonal_of_two}}),
        zip({{"readme.txt", "text"}, {"__MACOSX/._x.mtx", "?"}, {"x.mtx", diagonal_of_two}}, true),
        zip({{"x.MTX", diagonal_of_two}}, false)}) {
    CHECK(s.read(bytes, &h) == two_on_diagonal);
    CHECK(h.sha256 == sha256_hex(diagonal_of_two));
    CHECK(sha256_of_matrix_file(s.file()) == h.sha256);
  }
  CHECK(s.read(tar({{"g/g.rua", harwell_boeing("RUA", three_values)}})).nnz() == 4);
  CHECK(s.refusal(tar({{"a.mtx", diagonal_of_two}, {"b.mtx", diagonal_of_two}})) ==
        ": holds several matrices: a.mtx, b.mtx; unpack the one that is meant");
  CHECK(s.refusal(tar({{"a/a.mtx", diagonal_of_two}, {"b/b.mtx", diagonal_of_two}})) ==
        ": holds several matrices: a/a.mtx, b/b.mtx; unpack the one that is meant");
  CHECK(s.refusal(tar({{"a/x.txt", "text"}, {"a/y\nz", "text"}})) ==
        ": is an archive without a matrix (.mtx, .rb, .rua); it has a/x.txt, a/y?z");
  CHECK(s.refusal(
            tar({{"a/a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1\n"}})) ==
        ":a/a.mtx:3: row index '2' is outside 1..1");
  CHECK(s.refusal(tar({{"a/a.mtx", "<html>"}})) ==
        ":a/a.mtx: is an HTML page; the download may have failed");
  CHECK(s.refusal(tar({{"a/a.mtx", gzip(diagonal_of_two)}})) ==
        ":a/a.mtx: is compressed twice; unpack it once");
  CHECK(s.refusal(gzip(collection).substr(0, 100)) == ": truncated gzip data");
  CHECK(s.refusal(collection.substr(0, 700)).starts_with(": corrupt or truncated .tar"));
}

// --- what is refused -----------------------------------------------------------------------------

TEST_CASE("files that are no matrices are named") {
  const matrix_scratch s;
  using namespace std::string_literals;
  const std::pair<std::string, const char*> kinds[] = {
      {"MATLAB 5.0 MAT-file, Platform: GLNXA64", "is a MATLAB file"},
      {"\x89HDF\r\n\x1a\n", "is an HDF5 file"},
      {"\x89PNG\r\n\x1a\n", "is a PNG picture"},
      {"%PDF-1.7\n", "is a PDF document"},
      {"\n<!DOCTYPE html>\n<html>", "is an HTML page"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"},
      {"\x93NUMPY\x01\x00v\x00"s, "is a NumPy array"},
      {"\x80\x04\x95", "is a Python pickle"},
      {"gSoFaPP\nxxxx", "is a prepared matrix of `gsofa prepare`"},
      {"\xff\xfe%\x00%\x00M\x00"s, "is text in UTF-16"},
      {"\xfe\xff\x00%\x00%"s, "is text in UTF-16"},
      {"{\"n\": 3}", "is a JSON document"},
      {"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive"},
      {"\x00\x12\x7b\x50\x00"s, "is a PETSc binary file"},
      {"\x01\x02\x03", "is not a matrix file: it begins with the bytes 01 02 03"},
  };
  for (const auto& [bytes, what] : kinds) {
    CHECK(s.refusal(bytes).starts_with(": "s + what));
    CHECK(s.refusal(gzip(bytes)).starts_with(": "s + what));
  }
  CHECK(s.refusal("") == ": empty file");
  const std::string reason = ":1: no %%MatrixMarket banner, and no header of Harwell-Boeing";
  CHECK(s.refusal("hello world\n1 1 1\n") == reason + ": 'hello world'");
  CHECK(s.refusal("1,2,3\n") == reason + "; it looks like a table with commas");
  for (const char* triplets : {"0 0 1\n1 1 1\n", "1 1 2.5e-3\n", "% comment\n3 3 1\n1 1 1\n"}) {
    CHECK(s.refusal(triplets) ==
          reason +
              "; triplets need the line '%%MatrixMarket matrix coordinate real general', then "
              "'rows columns entries', then 1-based entries");
  }
}

}  // namespace
