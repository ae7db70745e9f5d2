#pragma once

/// What the families of generators share: their checked parameters, a writer of rows, and the
/// random removal of entries. Included by the sources of this folder and by generators.cpp only.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/pattern.hpp"
#include "common/process.hpp"
#include "common/random.hpp"
#include "common/types.hpp"

namespace gsofa::generator {

/// More entries than this are refused before anything is allocated.
inline constexpr offset_t max_entries = offset_t{1} << 32;

/// One `key=value` that a family understands.
struct parameter {
  enum class kind { integer, real, word };
  std::string key;
  kind type = kind::integer;
  std::string default_value;  // empty: required; "@other": the value of the key `other`
  offset_t minimum = 0;       // integers only; reals lie in [minimum, maximum] too
  offset_t maximum = max_index;
  std::vector<std::string> choices{};
};

inline parameter required(std::string key, offset_t minimum, offset_t maximum = max_index) {
  return {std::move(key), parameter::kind::integer, "", minimum, maximum};
}
inline parameter integer(std::string key, std::string value, offset_t minimum,
                         offset_t maximum = max_index) {
  return {std::move(key), parameter::kind::integer, std::move(value), minimum, maximum};
}
inline parameter real(std::string key, std::string value, offset_t maximum = 1) {
  return {std::move(key), parameter::kind::real, std::move(value), 0, maximum};
}
inline parameter word(std::string key, std::string value, std::vector<std::string> choices) {
  return {std::move(key), parameter::kind::word, std::move(value), 0, 0, std::move(choices)};
}

/// The checked values of one spec.
class arguments {
 public:
  arguments(std::string spec, const std::vector<parameter>& known, std::string_view text)
      : spec_(std::move(spec)) {
    std::map<std::string, std::string> given;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const std::string_view item = text.substr(0, comma);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        fail("expected key=value, found \"" + std::string(item) + "\"");
      }
      const std::string key(item.substr(0, equals));
      if (std::ranges::find(known, key, &parameter::key) == known.end()) {
        std::string list;
        for (const parameter& p : known) list += (list.empty() ? "" : ", ") + p.key;
        fail("unknown key \"" + key + "\" (known: " + list + ")");
      }
      if (!given.emplace(key, item.substr(equals + 1)).second) {
        fail("key \"" + key + "\" is repeated");
      }
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
      if (text.empty()) fail("expected key=value after the last comma");
    }
    for (const parameter& p : known) {
      const auto found = given.find(p.key);
      std::string value = found != given.end() ? found->second : p.default_value;
      if (found == given.end() && value.empty()) fail("key \"" + p.key + "\" is required");
      if (found == given.end() && value.front() == '@') {
        value = std::to_string(integer(value.substr(1)));
      }
      set(p, value);
    }
  }

  [[nodiscard]] index_t integer(const std::string& key) const { return integers_.at(key); }
  [[nodiscard]] double real(const std::string& key) const { return reals_.at(key); }
  [[nodiscard]] probability chance(const std::string& key) const {
    return probability(reals_.at(key));
  }
  [[nodiscard]] const std::string& word(const std::string& key) const { return words_.at(key); }
  [[nodiscard]] std::uint64_t seed() const {
    return static_cast<std::uint64_t>(integers_.at("seed"));
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw input_error("generator spec \"" + spec_ + "\": " + why);
  }

  /// The product of sizes as an order; refuses what index_t cannot hold.
  [[nodiscard]] index_t order(std::initializer_list<offset_t> factors) const {
    offset_t n = 1;
    for (const offset_t f : factors) {
      if (f != 0 && n > max_index / f) {
        fail("the order does not fit in 32 bits (at most " + std::to_string(max_index) + ")");
      }
      n *= f;
    }
    return static_cast<index_t>(n);
  }

  /// The key `n` cut to the leading `full` unknowns; 0 means all of them.
  [[nodiscard]] index_t leading(index_t full) const {
    const index_t n = integer("n");
    if (n > full) {
      fail("n = " + std::to_string(n) + " exceeds the order " + std::to_string(full) +
           " of the full model");
    }
    return n == 0 ? full : n;
  }

  void check_entries(offset_t count) const {
    if (count > max_entries) {
      fail("about " + std::to_string(count) + " entries exceed the limit of " +
           std::to_string(max_entries));
    }
  }

 private:
  void set(const parameter& p, const std::string& value) {
    const char* const begin = value.data();
    const char* const end = begin + value.size();
    switch (p.type) {
      case parameter::kind::integer: {
        offset_t x = 0;
        const auto [stop, error] = std::from_chars(begin, end, x);
        if (error != std::errc{} || stop != end || x < p.minimum || x > p.maximum) {
          fail(p.key + " = \"" + value + "\" must be an integer from " + std::to_string(p.minimum) +
               " to " + std::to_string(p.maximum));
        }
        integers_[p.key] = static_cast<index_t>(x);
        break;
      }
      case parameter::kind::real: {
        double x = 0;
        const auto [stop, error] = std::from_chars(begin, end, x);
        // NaN fails both comparisons.
        if (error != std::errc{} || stop != end || !(x >= static_cast<double>(p.minimum)) ||
            !(x <= static_cast<double>(p.maximum))) {
          fail(p.key + " = \"" + value + "\" must be a number from " + std::to_string(p.minimum) +
               " to " + std::to_string(p.maximum));
        }
        reals_[p.key] = x;
        break;
      }
      case parameter::kind::word:
        if (std::ranges::find(p.choices, value) == p.choices.end()) {
          std::string list;
          for (const std::string& c : p.choices) list += (list.empty() ? "" : ", ") + c;
          fail(p.key + " = \"" + value + "\" must be one of " + list);
        }
        words_[p.key] = value;
        break;
    }
  }

  std::string spec_;
  std::map<std::string, index_t> integers_;
  std::map<std::string, double> reals_;
  std::map<std::string, std::string> words_;
};

/// Writes a square pattern row by row.
class row_writer {
 public:
  row_writer(index_t n, offset_t expected_entries) : n_(n) {
    require_memory("generated matrix", n, n,
                   4 * expected_entries + program_row_bytes * (offset_t{n} + 1));
    out_.n_rows = out_.n_cols = n;
    out_.row_ptr.clear();
    out_.row_ptr.reserve(at(n) + 1);
    out_.row_ptr.push_back(0);
    out_.col_idx.reserve(at(expected_entries));
  }
  /// Adds column j to the current row in any order; repeats are merged, columns beyond n ignored.
  void add(index_t j) {
    if (j >= n_) return;
    if (out_.col_idx.size() > begin_ && j <= out_.col_idx.back()) sorted_ = false;
    out_.col_idx.push_back(j);
  }
  void end_row() {
    if (!sorted_) {
      const auto first = out_.col_idx.begin() + static_cast<std::ptrdiff_t>(begin_);
      std::sort(first, out_.col_idx.end());
      out_.col_idx.erase(std::unique(first, out_.col_idx.end()), out_.col_idx.end());
    }
    begin_ = out_.col_idx.size();
    sorted_ = true;
    out_.row_ptr.push_back(static_cast<offset_t>(begin_));
  }
  pattern take() { return std::move(out_); }

 private:
  index_t n_;
  pattern out_;
  std::size_t begin_ = 0;
  bool sorted_ = true;
};

/// A symmetric pattern with a full diagonal.
class symmetric_entries {
 public:
  explicit symmetric_entries(index_t n) : t_{n, n, {}, {}} {
    for (index_t i = 0; i < n; ++i) put(i, i);
  }
  /// Row and column i hold each of `others`.
  void couple(index_t i, std::initializer_list<index_t> others) {
    for (const index_t j : others) {
      put(i, j);
      put(j, i);
    }
  }
  [[nodiscard]] pattern take() const { return from_triplets(t_, duplicates::merge); }

 private:
  void put(index_t i, index_t j) {
    t_.rows.push_back(i);
    t_.cols.push_back(j);
  }
  triplets t_;
};

/// Random removal of off-diagonal entries, decided per edge from the seed alone.
struct entry_filter {
  std::uint64_t seed = 0;
  probability oneway;  // per unordered pair: one of its two directions is lost
  probability drop;    // per ordered pair, independently

  static entry_filter from(const arguments& a) {
    return {a.seed(), a.chance("oneway"), a.chance("drop")};
  }
  [[nodiscard]] bool keeps(index_t i, index_t j) const {
    const auto u = static_cast<std::uint64_t>(i);
    const auto v = static_cast<std::uint64_t>(j);
    if (!oneway.never()) {
      const std::uint64_t h = keyed_random(seed ^ 0x6f6e6577ULL, std::min(u, v), std::max(u, v));
      // Bit 0 is not looked at by holds(): it chooses the direction.
      if (oneway.holds(h) && ((h & 1) == 0) == (i < j)) return false;
    }
    return drop.never() || !drop.holds(keyed_random(seed ^ 0x64726f70ULL, u, v));
  }
};

/// A whole number of mean `mean`: its floor, or one more with the probability of the rest.
index_t rounded_at_random(random_source& random, double mean);

// dissected.cpp
pattern make_dissected(const arguments& args);
// lattices.cpp
pattern make_grid(const arguments& args, const std::string& points);
pattern make_elasticity(const arguments& args);
pattern make_channel(const arguments& args);
pattern make_triangles(const arguments& args);
// elements.cpp
pattern make_edge_elements(const arguments& args);
// flows.cpp
pattern make_dg(const arguments& args);
pattern make_convection(const arguments& args);
pattern make_fields(const arguments& args);
// circuits.cpp
pattern make_circuit(const arguments& args);
pattern make_harmonic(const arguments& args);
// models.cpp
pattern make_economy(const arguments& args);
pattern make_columns(const arguments& args);
pattern make_flowsheet(const arguments& args);
// power_grids.cpp
pattern make_kkt(const arguments& args);
pattern make_space_time_kkt(const arguments& args);
// optimization.cpp
pattern make_bipartite_kkt(const arguments& args);
pattern make_normal_equations(const arguments& args);
// plain.cpp
pattern make_random(const arguments& args);
pattern make_banded(const arguments& args, index_t lower, index_t upper);
pattern make_arrow(const arguments& args);

/// An nx x ny x nz lattice of nodes.
struct lattice {
  offset_t nx = 1, ny = 1, nz = 1;
  [[nodiscard]] offset_t nodes() const { return nx * ny * nz; }
};
lattice lattice_from(const arguments& args, bool planar);

/// Displacements of a stencil of 5, 7, 9, 15 or 27 points, itself included, ascending by number.
std::vector<std::array<int, 3>> stencil_offsets(const std::string& points);

}  // namespace gsofa::generator
