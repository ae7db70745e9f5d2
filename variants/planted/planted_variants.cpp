// Deliberately wrong variants: each must be rejected by `gsofa check`.
//
// The variants of the first five rows are fill1 with one fault in the finished result. Every part
// of the result that the fault touches is wrong consistently (counts, digests and patterns agree
// with each other), so that only a comparison with the truth, or the certificate, can find the
// fault. The next two are the relaxed algorithm with a fault in its settings, in small batches. The
// two of several ranks are the distributed driver with its own check of chunks turned off, so that
// the verification of results must find the fault, with any number of ranks, one included. The last
// four end or block their process on orders above 2: only a process of its own survives them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "variants/fill/fill1.hpp"
#include "variants/maxid/distributed/maxid_cpu_variant.hpp"
#include "variants/maxid/maxid.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa {
namespace {

class right_variant : public detail::row_variant {
 public:
  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, true);
    fill::fill1_row find(a_.n_rows);
    for (index_t src = 0; src < a_.n_rows; ++src) {
      context.check_deadline(src, a_.n_rows);
      find(a_, src, rows_);
    }
    find_supernodes(context);
  }
};

// Plants a fault in the strictly lower part and in the upper part with the diagonal.
using spoiling = void (*)(const pattern_view& a, pattern& l, pattern& u);

class spoilt_variant final : public right_variant {
 public:
  explicit spoilt_variant(spoiling spoil) : spoil_(spoil) {}

  result collect(want_set wants) override {
    result found = rows_.collect(want::pattern);
    spoil_(a_, found.l, found.u);
    result out;
    out.nnz_l = found.l.nnz();
    out.nnz_u = found.u.nnz();
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if (wants.has(want::counts)) {
        out.l_row_counts.push_back(static_cast<index_t>(found.l.row(i).size()));
        out.u_row_counts.push_back(static_cast<index_t>(found.u.row(i).size()));
      }
      if (wants.has(want::digest)) {
        out.row_digests.push_back(row_digest(i, found.l.row(i)) + row_digest(i, found.u.row(i)));
        out.digest += out.row_digests.back();
      }
    }
    if (wants.has(want::supernodes)) out.supernode_starts = supernodes_;
    if (wants.has(want::pattern)) {
      out.l = std::move(found.l);
      out.u = std::move(found.u);
    }
    return out;
  }

 private:
  spoiling spoil_;
};

// Removes the entry at position p of row i.
void erase(pattern& a, index_t i, offset_t p) {
  a.col_idx.erase(a.col_idx.begin() + p);
  for (index_t k = i; k < a.n_rows; ++k) --a.row_ptr[static_cast<std::size_t>(k) + 1];
}

// Inserts column j before position p, in row i.
void insert(pattern& a, index_t i, offset_t p, index_t j) {
  a.col_idx.insert(a.col_idx.begin() + p, j);
  for (index_t k = i; k < a.n_rows; ++k) ++a.row_ptr[static_cast<std::size_t>(k) + 1];
}

// The last entry of L that is not in A is dropped; a matrix without fill-in in L stays right.
void lose_fill(const pattern_view& a, pattern& l, pattern&) {
  for (index_t i = l.n_rows - 1; i >= 0; --i) {
    for (offset_t p = l.row_ptr[static_cast<std::size_t>(i) + 1] - 1;
         p >= l.row_ptr[static_cast<std::size_t>(i)]; --p) {
      if (std::ranges::binary_search(a.row(i), l.col_idx[static_cast<std::size_t>(p)])) continue;
      erase(l, i, p);
      return;
    }
  }
}

void lose_diagonal(const pattern_view&, pattern&, pattern& u) {
  const index_t last = u.n_rows - 1;
  erase(u, last, u.row_ptr[static_cast<std::size_t>(last)]);
}

// The first diagonal entry of U is twice in its row.
void repeat_entry(const pattern_view&, pattern&, pattern& u) { insert(u, 0, 0, 0); }

// The first row of U with two entries is descending. Counts and digests are right, since they do
// not depend on the order.
void swap_entries(const pattern_view&, pattern&, pattern& u) {
  for (index_t i = 0; i < u.n_rows; ++i) {
    if (u.row(i).size() < 2) continue;
    const auto p = static_cast<std::size_t>(u.row_ptr[static_cast<std::size_t>(i)]);
    std::swap(u.col_idx[p], u.col_idx[p + 1]);
    return;
  }
}

// The fill closure of A with one entry more: the first zero of the last row is taken for a nonzero.
// The result is closed under elimination, but nothing justifies that entry.
class over_fill final : public right_variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    padded_ = pattern{a.n_rows,
                      a.n_cols,
                      {a.row_ptr.begin(), a.row_ptr.end()},
                      {a.col_idx.begin(), a.col_idx.end()}};
    const index_t last = a.n_rows - 1;
    index_t j = 0;
    for (const index_t k : a.row(last)) j += k == j ? 1 : 0;
    if (j < last) insert(padded_, last, padded_.row_ptr[static_cast<std::size_t>(last)] + j, j);
    row_variant::prepare(padded_, settings, context);
  }

 private:
  pattern padded_;
};

class relaxed_variant final : public detail::row_variant {
 public:
  explicit relaxed_variant(const maxid::maxid_settings& fault) : settings_of_run_(fault) {}

  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, true);
    settings_of_run_.concurrent = std::min(a_.n_rows, index_t{4});
    maxid::maxid_engine engine(a_, settings_of_run_, 1);
    engine.run(rows_, context);
    find_supernodes(context);
  }

 private:
  maxid::maxid_settings settings_of_run_;
};

// All batches share one value window of maxId without re-initialisation, so that minima left by
// earlier sources block improvements.
std::unique_ptr<variant> stale_maxid() {
  maxid::maxid_settings s;
  s.advance_window = false;
  s.bubble_removal = false;
  return std::make_unique<relaxed_variant>(s);
}

// The atomic minimum is replaced by the worst interleaving of plain stores: all threads of a level
// compare with the value at its begin, and the last store wins.
std::unique_ptr<variant> racy_update() {
  maxid::maxid_settings s;
  s.atomic_minimum = false;
  return std::make_unique<relaxed_variant>(s);
}

class fatal_variant final : public right_variant {
 public:
  explicit fatal_variant(void (*strike)()) : strike_(strike) {}

  void run(run_context& context) override {
    if (a_.n_rows > 2) strike_();
    right_variant::run(context);
  }

 private:
  void (*strike_)();
};

void succeed() { std::exit(0); }

void store_nowhere() {
  int* volatile const nowhere = reinterpret_cast<int*>(std::uintptr_t{64});  // in no page
  *nowhere = 1;
}

// Never looks at the deadline. It sleeps, so that others can work.
void sleep_forever() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

template <typename Variant, auto Fault>
std::unique_ptr<variant> create() {
  return std::make_unique<Variant>(Fault);
}

struct fault {
  const char* name;
  const char* what;
  std::unique_ptr<variant> (*create)();
  const char* device = "cpu";
  bool fatal = false;
};

using maxid::distribution_fault;
using maxid::maxid_cpu_variant;

constexpr fault faults[] = {
    {"planted_missing_fill", "the last fill-in of L is lost", create<spoilt_variant, lose_fill>},
    {"planted_lost_diagonal", "the diagonal entry of the last row is missing from U",
     create<spoilt_variant, lose_diagonal>},
    {"planted_duplicate", "an entry is listed twice", create<spoilt_variant, repeat_entry>},
    {"planted_unsorted_row", "two entries of a row are swapped",
     create<spoilt_variant, swap_entries>},
    {"planted_over_fill", "closed over-fill",
     []() -> std::unique_ptr<variant> { return std::make_unique<over_fill>(); }},
    {"planted_stale_maxid", "maxId values of the batch before are taken for valid", stale_maxid},
    {"planted_racy_update", "updates of maxId get lost", racy_update},
    {"planted_mpi_lost_chunk",
     "chunks that do not divide evenly among the workers are done by nobody",
     create<maxid_cpu_variant, distribution_fault::lost_chunk>, "mpi"},
    {"planted_mpi_repeated_chunk", "the last chunk of a node is counted twice",
     create<maxid_cpu_variant, distribution_fault::repeated_chunk>, "mpi"},
    {"planted_abort", "it aborts", create<fatal_variant, std::abort>, "cpu", true},
    {"planted_exit", "it ends the program as if all were well", create<fatal_variant, succeed>,
     "cpu", true},
    {"planted_segfault", "it stores to no memory", create<fatal_variant, store_nowhere>, "cpu",
     true},
    {"planted_endless", "it never returns", create<fatal_variant, sleep_forever>, "cpu", true},
};

variant_info describe(std::size_t k) {
  const fault& f = faults[k];
  const bool distributed = f.device == std::string_view("mpi");
  return {
      .name = f.name,
      .device = f.device,
      .summary = std::string("deliberately wrong: ") + f.what,
      .citation = "variants/README.md: every oracle must be able to fail",
      .options = distributed ? maxid::planted_distribution_options() : std::vector<option_spec>{},
      .distributed = distributed,
      .planted = f.what,
      .fatal = f.fatal,
      .create = f.create};
}

}  // namespace

GSOFA_REGISTER_VARIANTS(std::size(faults), describe);

}  // namespace gsofa
