#pragma once

// What tests of the library share.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"

namespace gsofa::library::testing {

inline csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

inline bool same(const csr_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.row_ptr == b.row_ptr && a.col_idx == b.col_idx;
}
inline bool same(const csc_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.col_ptr == b.row_ptr && a.row_idx == b.col_idx;
}

/// The arrays of a pattern as other integers.
template <class Offset, class Index>
struct arrays {
  std::vector<Offset> ptr;
  std::vector<Index> idx;
  explicit arrays(const pattern& a)
      : ptr(a.row_ptr.begin(), a.row_ptr.end()), idx(a.col_idx.begin(), a.col_idx.end()) {}
};

/// What the shared library holds; the emulated build holds all variants of the testbed.
inline constexpr const char* held[] = {"cpu_bitmap_panels", "gpu_bitmap_panels",
                                       "gpu_fill2_bitparallel"};

/// Those of them that run here: of the shared library those of the machine, of the emulated build
/// all.
inline std::vector<variant_description> runnable() {
  std::vector<variant_description> out;
  for (const auto& v : variants()) {
    if (v.unavailable.empty() && std::ranges::count(held, v.name) != 0) out.push_back(v);
  }
  return out;
}

/// The text of the invalid_input that `call` throws, or "nothing was thrown".
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const invalid_input& e) {
    CHECK(e.kind() == failure::invalid_input);
    return e.what();
  }
  return "nothing was thrown";
}

/// A handle of the C interface, released at the end of a test.
struct handle {
  gsofa_analysis* a = nullptr;
  handle() = default;
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() { gsofa_free(a); }
};

inline gsofa_pattern c_pattern(const pattern& a) {
  return {a.n_rows, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
}

inline gsofa_result result_of(const gsofa_analysis* f) {
  gsofa_result r;
  REQUIRE(gsofa_get_result(f, &r) == GSOFA_OK);
  REQUIRE(r.size == sizeof r);
  return r;
}

}  // namespace gsofa::library::testing
