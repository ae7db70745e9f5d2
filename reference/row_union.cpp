#include "reference/row_union.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace gsofa::reference {

namespace {

constexpr std::size_t word_bits = 64;

// 64 consecutive columns, of which those of `bits` are in the row.
struct row_words {
  std::vector<std::uint32_t> word;
  std::vector<std::uint64_t> bits;
};

// A set of columns that grows while it is scanned in ascending order. Bit w of the summary is set
// iff word w is nonzero.
class growing_row {
 public:
  explicit growing_row(std::size_t n)
      : words_(n / word_bits + 1), summary_(words_.size() / word_bits + 1) {}

  void insert(std::size_t word, std::uint64_t bits) {
    words_[word] |= bits;
    summary_[word / word_bits] |= std::uint64_t{1} << (word % word_bits);
  }

  // Smallest member >= from; `none` if there is none.
  static constexpr std::size_t none = ~std::size_t{0};
  [[nodiscard]] std::size_t next(std::size_t from) const {
    const std::size_t word = from / word_bits;
    if (word >= words_.size()) return none;
    if (const std::uint64_t here = words_[word] >> (from % word_bits); here != 0) {
      return from + static_cast<std::size_t>(std::countr_zero(here));
    }
    const std::size_t later = next_word(word + 1);
    if (later == none) return none;
    return later * word_bits + static_cast<std::size_t>(std::countr_zero(words_[later]));
  }
  // Smallest nonzero word >= from; `none` if there is none.
  [[nodiscard]] std::size_t next_word(std::size_t from) const {
    for (std::size_t s = from / word_bits; s < summary_.size(); ++s) {
      std::uint64_t here = summary_[s];
      if (s == from / word_bits) here &= ~std::uint64_t{0} << (from % word_bits);
      if (here != 0) return s * word_bits + static_cast<std::size_t>(std::countr_zero(here));
    }
    return none;
  }
  // Removes and returns a word.
  std::uint64_t take(std::size_t word) {
    const std::uint64_t bits = words_[word];
    words_[word] = 0;
    summary_[word / word_bits] &= ~(std::uint64_t{1} << (word % word_bits));
    return bits;
  }

 private:
  std::vector<std::uint64_t> words_, summary_;
};

}  // namespace

pattern row_union(const pattern_view& a) {
  validate(a, "row union");
  if (a.n_rows != a.n_cols) throw input_error("row union: the matrix is not square");
  const auto n = static_cast<std::size_t>(a.n_rows);
  std::vector<row_words> upper(n);  // U(k,:) without the diagonal
  growing_row row(n);
  pattern f;
  f.n_rows = f.n_cols = a.n_rows;
  f.row_ptr.reserve(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto a_row = a.row(static_cast<index_t>(i));
    if (!std::ranges::binary_search(a_row, static_cast<index_t>(i))) {
      throw input_error("row union: the diagonal of row " + std::to_string(i) +
                        " is structurally zero");
    }
    for (const index_t j : a_row) {
      const auto c = static_cast<std::size_t>(j);
      row.insert(c / word_bits, std::uint64_t{1} << (c % word_bits));
    }
    // U(k,:) adds only columns beyond k: the scan misses none.
    for (std::size_t k = row.next(0); k < i; k = row.next(k + 1)) {
      const row_words& u = upper[k];
      for (std::size_t p = 0; p < u.word.size(); ++p) row.insert(u.word[p], u.bits[p]);
    }
    row_words& u = upper[i];
    for (std::size_t w = row.next_word(0); w != growing_row::none; w = row.next_word(w + 1)) {
      const std::uint64_t bits = row.take(w);
      for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        f.col_idx.push_back(static_cast<index_t>(w * word_bits) + std::countr_zero(rest));
      }
      std::uint64_t beyond = bits;
      if (w < i / word_bits) beyond = 0;
      if (w == i / word_bits) beyond &= ~std::uint64_t{1} << (i % word_bits);
      if (beyond != 0) {
        u.word.push_back(static_cast<std::uint32_t>(w));
        u.bits.push_back(beyond);
      }
    }
    u.word.shrink_to_fit();
    u.bits.shrink_to_fit();
    f.row_ptr.push_back(static_cast<offset_t>(f.col_idx.size()));
  }
  return f;
}

}  // namespace gsofa::reference
