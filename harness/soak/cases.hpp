#pragma once

// Random calls of the library and what Boolean elimination on a dense matrix, which shares nothing
// with the library, says of its answers. Each call is a function of its number and the seed.

#include <bitset>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "gsofa/gsofa.h"

namespace gsofa::soak {

constexpr std::size_t largest = 192;
using dense_row = std::bitset<largest>;
using dense_matrix = std::vector<dense_row>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw fault(what);
}

class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t number) : engine_(seed * 0x9e3779b97f4a7c15ULL + number) {
    engine_.discard(4);
  }
  /// Less than n.
  std::int32_t below(std::int64_t n) {
    return n <= 0 ? 0 : static_cast<std::int32_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

/// What the library is called with.
struct call {
  std::int32_t n = 0;
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col_idx;
  std::vector<std::int32_t> permutation;
  gsofa_options options{};
  bool faulty = false;  // whatever comes of it, GSOFA_OK does not
};

/// A Matrix Market file of the pattern of a call, repeated entries among them, while this lives.
class pattern_file {
 public:
  explicit pattern_file(const call& c);
  ~pattern_file();
  pattern_file(const pattern_file&) = delete;
  pattern_file& operator=(const pattern_file&) = delete;
  [[nodiscard]] const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
};

call make_call(std::uint64_t seed, std::uint64_t number);
/// A pattern of one of the kinds of make_call(), of order n in 1 .. largest.
void fill_rows(dice& d, call& c);

dense_matrix dense(const call& c);
std::size_t structural_rank(const dense_matrix& a);
/// The matrix in the orders, with its diagonal, and L + U of that.
dense_matrix permuted(const dense_matrix& a, const std::vector<std::int32_t>& row_order,
                      const std::vector<std::int32_t>& col_order);
void eliminate(dense_matrix& a);

/// What the handle holds, copied.
struct answer {
  gsofa_status status = GSOFA_OK;
  std::string message;
  std::int32_t n = 0, diagonal_added = 0;
  std::int64_t nnz_l = 0, nnz_u = 0, nnz_a = 0;
  std::vector<std::int32_t> row_order, col_order, l_counts, u_counts, starts;
  std::vector<std::int64_t> l_ptr, u_ptr;
  std::vector<std::int32_t> l_idx, u_idx;
  std::string variant, order;

  bool operator==(const answer&) const = default;
};

class handle {
 public:
  handle() = default;
  ~handle() { gsofa_free(a); }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  gsofa_analysis* a = nullptr;
};

gsofa_status analyze(const call& c, handle& h);
/// Checks the form of what the handle holds; throws fault, as all checks do.
answer copy(const call& c, gsofa_status status, const handle& h);
/// The result of an analysis, all of whose members the library filled.
gsofa_result result_of(const gsofa_analysis* f);
/// Compares the answer with elimination in the orders that it states.
void check_filled(const call& c, const dense_matrix& a, const answer& found);

/// What this build can do, as its answers show.
struct abilities {
  bool matching = true, metis = true, gpu = true;
};

abilities find_abilities();
/// Compares the answer with what the call must have.
void check_answer(const call& c, const answer& found, const abilities& can);

}  // namespace gsofa::soak
