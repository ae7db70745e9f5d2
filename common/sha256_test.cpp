#include "common/sha256.hpp"

#include <zlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/file.hpp"

namespace {

using namespace gsofa;

struct vector_of_standard {
  std::string message, digest;
};

// FIPS 180-4 examples and the NIST short messages of 0, 1, 2 and 3 blocks.
std::vector<vector_of_standard> standard_vectors() {
  return {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
       "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
}

TEST_CASE("sha256: standard vectors, whole and in pieces") {
  for (const auto& [message, digest] : standard_vectors()) {
    CHECK(sha256_hex(message) == digest);
    for (const std::size_t piece : std::vector<std::size_t>{1, 3, 55, 64, 65, 4096}) {
      sha256_hasher hasher;
      for (std::size_t k = 0; k < message.size(); k += piece) {
        hasher.update(
            std::as_bytes(std::span(message).subspan(k, std::min(piece, message.size() - k))));
      }
      CHECK(hasher.hex() == digest);
    }
  }
}

TEST_CASE("sha256: a gzip'd file has the digest of its content") {
  const temporary_directory directory;
  const std::string text(300000, 'x');
  const auto plain = directory.path() / "a.mtx";
  const auto zipped = directory.path() / "a.mtx.gz";
  std::ofstream(plain, std::ios::binary) << text;
  gzFile out = gzopen(zipped.c_str(), "wb");
  REQUIRE(out != nullptr);
  CHECK(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) > 0);
  CHECK(gzclose(out) == Z_OK);
  CHECK(sha256_of_file(plain) == sha256_hex(text));
  CHECK(sha256_of_file(zipped) == sha256_hex(text));
  CHECK_THROWS_AS(sha256_of_file(directory.path() / "absent"), input_error);
}

}  // namespace
