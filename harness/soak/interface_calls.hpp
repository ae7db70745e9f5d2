#pragma once

// What the attacks on the C interface share.

#include <cstdint>
#include <string>
#include <vector>

#include "harness/soak/attacks.hpp"

namespace gsofa::soak {

void note_call(const char* name);

// The function, whose name counts as called.
#define CALL(function) (note_call(#function), function)

using indices = std::vector<std::int32_t>;

inline void require_status(gsofa_status found, gsofa_status expected, const std::string& what) {
  require(found == expected, what + ": status " + std::to_string(found) + ", not " +
                                 std::to_string(expected) + ": " + gsofa_last_error());
}

/// The pattern of a call in other integers, by rows or by columns.
struct stored_pattern {
  std::vector<std::int64_t> long_pointers, long_indices;
  indices short_pointers, short_indices;
  gsofa_pattern view{};

  stored_pattern(const call& c, int format, int index_type) {
    long_pointers = c.row_ptr;
    long_indices.assign(c.col_idx.begin(), c.col_idx.end());
    if (format == GSOFA_CSC) transpose(c.n);
    short_pointers.assign(long_pointers.begin(), long_pointers.end());
    short_indices.assign(long_indices.begin(), long_indices.end());
    const bool short_p = index_type == GSOFA_INDEX_32_32;
    const bool short_i = index_type != GSOFA_INDEX_64_64;
    view = {c.n, short_p ? static_cast<const void*>(short_pointers.data()) : long_pointers.data(),
            short_i ? static_cast<const void*>(short_indices.data()) : long_indices.data(),
            index_type, format};
  }
  stored_pattern(const stored_pattern&) = delete;
  stored_pattern& operator=(const stored_pattern&) = delete;

 private:
  void transpose(std::int32_t n) {
    std::vector<std::int64_t> ptr{0}, idx;
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int32_t i = 0; i < n; ++i) {
        for (std::int64_t p = long_pointers[at(i)]; p < long_pointers[at(i) + 1]; ++p) {
          if (long_indices[at(p)] == j) idx.push_back(i);
        }
      }
      ptr.push_back(static_cast<std::int64_t>(idx.size()));
    }
    long_pointers = std::move(ptr);
    long_indices = std::move(idx);
  }
};

/// gsofa_options_init_sized() with a structure of any size.
void check_options_init(dice& d);
/// Arguments that must give a status, and null handles that must give nothing; `f` may be null.
/// An order alone, by a random method, with and without a tree.
void check_order(dice& d, const call& c);
void check_match(dice& d, const call& c);
/// Updates of an analyzer by the pattern of `c`, again and with other numbers.
void check_updates(dice& d, const call& c);
void check_refusals(dice& d, const call& c, const gsofa_analysis* f);

}  // namespace gsofa::soak
