#include "common/text.hpp"

#include <doctest/doctest.h>

using namespace gsofa;

TEST_CASE("what a terminal would act on is escaped") {
  CHECK(printable("") == "");
  CHECK(printable("a b~") == "a b~");
  CHECK(printable("two\nlines") == "two\nlines");
  CHECK(printable("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m");
  CHECK(printable(std::string("a\0b\t\r\x7f", 6)) == "a\\x00b\\x09\\x0d\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");
}

TEST_CASE("characters that reorder or hide text are escaped") {
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a\\xe2\\x80\\xaeb");  // U+202E, right-to-left override
  for (const char* format :
       {"\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xaa",
        "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf", "\xef\xbf\xb9", "\xf0\x91\x82\xbd",
        "\xf3\xa0\x80\x81", "\xf3\xa0\x81\xbf"}) {
    CAPTURE(format);
    CHECK(printable(format).starts_with("\\x"));
  }
  // Their neighbours stay.
  const std::string kept =
      "\xe2\x80\x90\xe2\x80\xaf\xe2\x81\x9f\xe2\x81\xb0\xef\xbb\xbe\xef\xbf\xbc";
  CHECK(printable(kept) == kept);
}

TEST_CASE("characters of several bytes stay, other bytes above 127 are escaped") {
  const std::string kept = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0 \xed\x9f\xbf";
  CHECK(printable(kept) == kept);
  CHECK(printable("\x9b") == "\\x9b");  // C1 in Latin-1
  CHECK(printable("a\xff") == "a\\xff");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // overlong
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");  // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");  // cut off
}

TEST_CASE("the part of a text that is UTF-8") {
  CHECK(utf8_prefix("") == 0);
  CHECK(utf8_prefix("a\xc3\xa9\n") == 4);
  CHECK(utf8_prefix(std::string("a\0b", 3)) == 3);
  CHECK(utf8_prefix("ab\xff"
                    "cd") == 2);
  CHECK(utf8_prefix("ab\xe2\x82") == 2);
}

TEST_CASE("the nearest name") {
  const std::vector<std::string> names{"run", "check", "claims"};
  CHECK(nearest("chek", names) == "check");
  CHECK(nearest("claim", names) == "claims");
  CHECK(nearest("experiment", names) == "");
  CHECK(nearest("", names) == "");
  CHECK(nearest("x", {}) == "");
}

TEST_CASE("words of a shell command") {
  CHECK(shell_quoted("gen:grid5:nx=9,drop=0.3") == "gen:grid5:nx=9,drop=0.3");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("cpu_*") == "'cpu_*'");
  CHECK(shell_quoted("") == "''");
}
