// The library through its C interface against Boolean elimination on a dense matrix, which shares
// nothing with it. Each case is a function of its number and the seed.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gsofa/gsofa.h"
#include "harness/soak/allocations.hpp"

namespace gsofa::soak {

namespace {

constexpr std::size_t largest = 192;
using dense_row = std::bitset<largest>;
using dense_matrix = std::vector<dense_row>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& what) {
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

constexpr std::int32_t extremes[] = {-1,
                                     -2,
                                     std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::max() - 1,
                                     1 << 30};

// Entries of one row, unsorted, some of them repeated.
std::vector<std::int32_t> random_row(dice& d, std::int32_t i, std::int32_t n, int kind) {
  std::vector<std::int32_t> row;
  const auto add_random = [&](std::int32_t count) {
    for (std::int32_t k = 0; k < count; ++k) row.push_back(d.below(n));
  };
  switch (kind) {
    case 0:  // sparse
      row.push_back(i);
      add_random(d.below(4));
      break;
    case 1:  // sparse, without its diagonal
      add_random(1 + d.below(4));
      break;
    case 2:  // may be empty
      add_random(d.below(3));
      break;
    case 3:  // banded
      for (std::int32_t j = i - 2; j <= i + 2; ++j) {
        if (j >= 0 && j < n && !d.one_in(4)) row.push_back(j);
      }
      break;
    case 4:  // an arrow: first columns and the diagonal
      row.push_back(i);
      row.push_back(d.below(std::min(n, 3)));
      if (i < 2) add_random(n);
      break;
    case 5:  // blocks
      row.push_back(i);
      for (std::int32_t k = 0; k < 3; ++k) row.push_back(std::min(n - 1, i / 8 * 8 + d.below(8)));
      if (d.one_in(6)) add_random(1);
      break;
    case 6:  // the other diagonal
      row.push_back(n - 1 - i);
      add_random(d.below(3));
      break;
    default:  // about full
      add_random(2 * n);
      break;
  }
  return row;
}

void fill_rows(dice& d, call& c) {
  const int kind = d.below(8);
  const std::int32_t dense_row_at = d.one_in(4) ? d.below(c.n) : -1;
  const std::int32_t dense_column = d.one_in(4) ? d.below(c.n) : -1;
  const bool mixed = d.one_in(3);
  for (std::int32_t i = 0; i < c.n; ++i) {
    std::vector<std::int32_t> row = random_row(d, i, c.n, mixed ? d.below(8) : kind);
    if (i == dense_row_at) {
      for (std::int32_t j = 0; j < c.n; ++j) row.push_back(j);
    }
    if (dense_column >= 0) row.push_back(dense_column);
    if (d.one_in(8) && !row.empty()) row.push_back(row.front());
    if (d.one_in(2)) std::ranges::sort(row);
    c.col_idx.insert(c.col_idx.end(), row.begin(), row.end());
    c.row_ptr.push_back(static_cast<std::int64_t>(c.col_idx.size()));
  }
}

void choose_options(dice& d, call& c) {
  gsofa_options& o = c.options;
  gsofa_options_init(&o);
  o.order = d.below(8);
  if (o.order == GSOFA_ORDER_GIVEN) {
    for (std::int32_t k = 0; k < c.n; ++k) c.permutation.push_back(k);
    std::ranges::shuffle(c.permutation, d.engine());
    o.permutation = c.permutation.data();
  }
  constexpr const char* variants[] = {
      nullptr, nullptr, nullptr, "cpu_bitmap_panels", "gpu_bitmap_panels", "gpu_fill2_bitparallel"};
  o.variant = variants[d.below(6)];
  o.device = o.variant == nullptr ? d.below(2) : GSOFA_AUTOMATIC;
  o.threads = d.below(4);
  o.memory_budget_mb = d.one_in(4) ? 1 + d.below(3) : -1;
  o.match = d.one_in(3) ? 0 : 1;
  o.factors = d.below(2);
  o.supernodes = d.below(2);
  o.chunk_size = d.one_in(2) ? 0 : 1 + d.below(std::max(c.n, 2));
}

// Makes one thing wrong with the pattern or an option.
void damage(dice& d, call& c) {
  c.faulty = true;
  gsofa_options& o = c.options;
  switch (d.below(9)) {
    case 0: {  // a column out of range
      if (c.col_idx.empty()) break;
      const std::int32_t wrong = extremes[d.below(6)];
      c.col_idx[at(d.below(static_cast<std::int64_t>(c.col_idx.size())))] =
          d.one_in(3) ? c.n : wrong;
      return;
    }
    case 1: {  // a row pointer that decreases or lies beyond the end; the last one stays
      if (c.n < 2) break;
      const std::int64_t wrong = d.one_in(2)   ? -1 - d.below(5)
                                 : d.one_in(2) ? std::numeric_limits<std::int64_t>::max()
                                               : c.row_ptr.back() + 1 + d.below(1 << 20);
      c.row_ptr[at(1 + d.below(c.n - 1))] = wrong;
      return;
    }
    case 2:  // a first row pointer that is not 0
      c.row_ptr[0] = d.one_in(2) ? -1 : 1 + d.below(3);
      return;
    case 3:
      c.n = d.one_in(2) ? 0 : extremes[d.below(3)];
      return;
    case 4:
      o.order = d.one_in(2) ? 8 : extremes[d.below(6)];
      return;
    case 5:
      o.device = d.one_in(2) ? 3 : extremes[d.below(6)];
      return;
    case 6:
      o.threads = extremes[d.below(3)];
      return;
    case 7:
      o.memory_budget_mb = d.one_in(2) ? -2 : std::numeric_limits<std::int64_t>::min() + d.below(2);
      return;
    default:
      if (o.order == GSOFA_ORDER_GIVEN && c.n > 1) {
        c.permutation[at(d.below(c.n))] = d.one_in(2) ? c.permutation[0] : extremes[d.below(6)];
        // A repeated value may have hit its own place.
        std::vector<std::int32_t> sorted = c.permutation;
        std::ranges::sort(sorted);
        bool whole = true;
        for (std::int32_t k = 0; k < c.n; ++k) whole = whole && sorted[at(k)] == k;
        c.faulty = !whole;
        return;
      }
      break;
  }
  o.chunk_size = extremes[d.below(3)];
}

call make_call(std::uint64_t seed, std::uint64_t number) {
  dice d(seed, number);
  call c;
  c.n = d.one_in(8) ? 1 + d.below(2) : 1 + d.below(d.one_in(3) ? static_cast<int>(largest) : 40);
  fill_rows(d, c);
  choose_options(d, c);
  if (d.one_in(6)) damage(d, c);
  return c;
}

dense_matrix dense(const call& c) {
  dense_matrix a(at(c.n));
  for (std::int32_t i = 0; i < c.n; ++i) {
    for (std::int64_t p = c.row_ptr[at(i)]; p < c.row_ptr[at(i) + 1]; ++p) {
      a[at(i)].set(at(c.col_idx[at(p)]));
    }
  }
  return a;
}

// Kuhn's augmenting paths.
bool augment(const dense_matrix& a, std::size_t i, dense_row& seen,
             std::vector<std::int32_t>& row_of) {
  for (std::size_t j = 0; j < row_of.size(); ++j) {
    if (!a[i][j] || seen[j]) continue;
    seen.set(j);
    if (row_of[j] < 0 || augment(a, at(row_of[j]), seen, row_of)) {
      row_of[j] = static_cast<std::int32_t>(i);
      return true;
    }
  }
  return false;
}

std::size_t structural_rank(const dense_matrix& a) {
  std::vector<std::int32_t> row_of(a.size(), -1);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dense_row seen;
    rank += augment(a, i, seen, row_of) ? 1 : 0;
  }
  return rank;
}

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

void copy_factor(gsofa_status status, const std::int64_t* ptr, const std::int32_t* idx,
                 std::int32_t n, std::vector<std::int64_t>& ptr_out,
                 std::vector<std::int32_t>& idx_out) {
  require(status == GSOFA_OK, "factors that were asked for are refused");
  ptr_out.assign(ptr, ptr + n + 1);
  require(ptr_out.front() == 0 && std::ranges::is_sorted(ptr_out), "row pointers do not ascend");
  idx_out.assign(idx, idx + ptr_out.back());
}

class handle {
 public:
  handle() = default;
  ~handle() { gsofa_free(a); }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  gsofa_analysis* a = nullptr;
};

gsofa_status analyze(const call& c, handle& h) {
  return gsofa_analyze(c.n, c.row_ptr.data(), c.col_idx.data(), &c.options, &h.a);
}

answer copy(const call& c, gsofa_status status, const handle& h) {
  answer out;
  out.status = status;
  require((h.a != nullptr) == (status == GSOFA_OK), "handle and status do not agree");
  if (status != GSOFA_OK) {
    out.message = gsofa_last_error();
    require(!out.message.empty() && out.message.find('\n') == std::string::npos,
            "an error is not one line");
    require(status >= GSOFA_INVALID_INPUT && status <= GSOFA_INTERNAL_ERROR, "unknown status");
    return out;
  }
  out.n = gsofa_n(h.a);
  require(out.n == c.n, "the order is another one");
  out.diagonal_added = gsofa_diagonal_added(h.a);
  out.nnz_l = gsofa_nnz_l(h.a);
  out.nnz_u = gsofa_nnz_u(h.a);
  out.nnz_a = gsofa_nnz_a(h.a);
  const auto copied = [&](const std::int32_t* p) {
    return std::vector<std::int32_t>(p, p + out.n);
  };
  out.row_order = copied(gsofa_row_order(h.a));
  out.col_order = copied(gsofa_col_order(h.a));
  out.l_counts = copied(gsofa_l_row_counts(h.a));
  out.u_counts = copied(gsofa_u_row_counts(h.a));
  out.variant = gsofa_variant_name(h.a);
  out.order = gsofa_order_name(h.a);
  const std::int64_t* ptr = nullptr;
  const std::int32_t* idx = nullptr;
  const gsofa_status l = gsofa_l(h.a, &ptr, &idx);
  if (c.options.factors != 0) copy_factor(l, ptr, idx, out.n, out.l_ptr, out.l_idx);
  const gsofa_status u = gsofa_u(h.a, &ptr, &idx);
  if (c.options.factors != 0) copy_factor(u, ptr, idx, out.n, out.u_ptr, out.u_idx);
  require((l == GSOFA_OK) == (c.options.factors != 0) && l == u, "factors nobody asked for");
  std::int32_t count = 0;
  const gsofa_status s = gsofa_supernodes(h.a, &idx, &count);
  require((s == GSOFA_OK) == (c.options.supernodes != 0), "supernodes nobody asked for");
  if (s == GSOFA_OK) out.starts.assign(idx, idx + count);
  return out;
}

void check_permutation(const std::vector<std::int32_t>& order, const std::string& name) {
  std::vector<bool> seen(order.size());
  for (const std::int32_t v : order) {
    require(v >= 0 && at(v) < order.size() && !seen[at(v)], name + " is no permutation");
    seen[at(v)] = true;
  }
}

void check_row(const std::vector<std::int64_t>& ptr, const std::vector<std::int32_t>& idx,
               std::size_t i, const dense_row& row, std::size_t begin, std::size_t end,
               const std::string& name) {
  std::vector<std::int32_t> expected;
  for (std::size_t j = begin; j < end; ++j) {
    if (row[j]) expected.push_back(static_cast<std::int32_t>(j));
  }
  const std::vector<std::int32_t> found(idx.begin() + ptr[i], idx.begin() + ptr[i + 1]);
  require(found == expected, name + ": row " + std::to_string(i) + " differs");
}

// Compares the answer with elimination in the orders that it states.
void check_filled(const call& c, const dense_matrix& a, const answer& found) {
  check_permutation(found.row_order, "row order");
  check_permutation(found.col_order, "column order");
  const std::size_t n = a.size();
  dense_matrix b(n);
  std::int32_t added = 0;
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      b[i][j] = a[at(found.row_order[i])][at(found.col_order[j])];
    }
    if (!b[i][i]) ++added;
    b[i].set(i);
    entries += static_cast<std::int64_t>(b[i].count());
  }
  require(added == found.diagonal_added, "diagonal_added is wrong");
  require(c.options.match == 0 || added == 0, "the matching left a zero on the diagonal");
  require(entries == found.nnz_a, "nnz_a is wrong");
  for (std::size_t k = 0; k < n; ++k) {
    const dense_row right = b[k] >> (k + 1) << (k + 1);
    for (std::size_t i = k + 1; i < n; ++i) {
      if (b[i][k]) b[i] |= right;
    }
  }
  std::int64_t nnz_l = 0, nnz_u = 0;
  std::vector<std::int32_t> starts;
  std::int32_t before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto u = static_cast<std::int32_t>((b[i] >> i).count());
    const auto l = static_cast<std::int32_t>(b[i].count()) - u;
    require(found.l_counts[i] == l && found.u_counts[i] == u,
            "counts of row " + std::to_string(i) + " differ");
    nnz_l += l;
    nnz_u += u;
    const bool cut = c.options.chunk_size > 0 && i % at(c.options.chunk_size) == 0;
    if (i == 0 || cut || u != before - 1 || !b[i][at(starts.back())]) {
      starts.push_back(static_cast<std::int32_t>(i));
    }
    before = u;
    if (c.options.factors != 0) {
      check_row(found.l_ptr, found.l_idx, i, b[i], 0, i, "L");
      check_row(found.u_ptr, found.u_idx, i, b[i], i, n, "U");
    }
  }
  require(nnz_l == found.nnz_l && nnz_u == found.nnz_u,
          "nnz_l or nnz_u is not the sum of its rows");
  require(c.options.supernodes == 0 || starts == found.starts, "supernodes differ");
  require(c.options.order != GSOFA_ORDER_GIVEN || found.col_order == c.permutation,
          "the given order was not taken");
}

/// What this build can do, as its answers show.
struct abilities {
  bool matching = true, metis = true, gpu = true;
};

abilities find_abilities() {
  abilities can;
  const std::vector<std::int64_t> ptr{0, 1, 2};
  const std::vector<std::int32_t> idx{1, 0};
  const auto status = [&](auto&& set) {
    gsofa_options o;
    gsofa_options_init(&o);
    o.device = GSOFA_CPU;
    o.order = GSOFA_ORDER_NATURAL;
    o.match = 0;
    set(o);
    handle h;
    return gsofa_analyze(2, ptr.data(), idx.data(), &o, &h.a);
  };
  can.matching = status([](gsofa_options& o) { o.match = 1; }) == GSOFA_OK;
  can.metis = status([](gsofa_options& o) { o.order = GSOFA_ORDER_METIS; }) == GSOFA_OK;
  can.gpu = status([](gsofa_options& o) { o.device = GSOFA_GPU; }) == GSOFA_OK;
  return can;
}

void check_answer(const call& c, const answer& found, const abilities& can) {
  if (c.faulty) {
    require(found.status == GSOFA_INVALID_INPUT || found.status == GSOFA_UNAVAILABLE,
            "bad input gave status " + std::to_string(found.status) + ": " + found.message);
    return;
  }
  const dense_matrix a = dense(c);
  bool zero_on_diagonal = false;
  for (std::size_t i = 0; i < a.size(); ++i) zero_on_diagonal = zero_on_diagonal || !a[i][i];
  const bool matched = c.options.match != 0 && zero_on_diagonal;
  const std::string variant = c.options.variant == nullptr ? "" : c.options.variant;
  const bool lacking = (matched && !can.matching) ||
                       (c.options.order == GSOFA_ORDER_METIS && !can.metis) ||
                       (variant.starts_with("gpu") && !can.gpu);
  if (lacking) {
    require(found.status == GSOFA_UNAVAILABLE, "something that is lacking was not refused as such");
    return;
  }
  if (matched && structural_rank(a) < a.size()) {
    require(found.status == GSOFA_INVALID_INPUT, "a structurally singular pattern was taken");
    return;
  }
  // A budget may be too small for any analysis.
  if (c.options.memory_budget_mb > 0 && found.status == GSOFA_OUT_OF_MEMORY) return;
  require(found.status == GSOFA_OK,
          "status " + std::to_string(found.status) + ": " + found.message);
  check_filled(c, a, found);
}

// A fault for the tests of this program: one row of U counts too many.
bool planted = false;

answer answer_to(const call& c) {
  handle h;
  const gsofa_status status = analyze(c, h);
  answer out = copy(c, status, h);
  if (planted && out.u_counts.size() > 20) ++out.u_counts[7];
  return out;
}

void run_case(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  const call c = make_call(seed, number);
  const answer first = answer_to(c);
  check_answer(c, first, can);
  require(answer_to(c) == first, "the second analysis differs from the first");
}

// Allocations of one analysis fail one after the other: the answer is right, or an error.
void run_starved(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  call c = make_call(seed, number);
  c.options.threads = 1;
  c.options.device = GSOFA_AUTOMATIC;
  if (c.faulty) return;
  const answer whole = answer_to(c);
  check_answer(c, whole, can);
  if (whole.status != GSOFA_OK) return;
  dice d(seed, ~number);
  std::int64_t count = 0;
  {
    handle h;
    watch_allocations({});
    analyze(c, h);
    count = unwatch_allocations();
  }
  for (int trial = 0; trial < 24; ++trial) {
    const allocation_rule rule{.first = 1 + d.below(count), .all_after = d.one_in(2)};
    handle h;
    watch_allocations(rule);
    const gsofa_status status = analyze(c, h);
    unwatch_allocations();
    const std::string where = "allocation " + std::to_string(rule.first) +
                              (rule.all_after ? " and all after it fail: " : " fails: ");
    const answer found = copy(c, status, h);
    if (status == GSOFA_OK) {
      require(found == whole, where + "the answer differs");
    } else {
      require(status == GSOFA_OUT_OF_MEMORY,
              where + "status " + std::to_string(status) + ": " + found.message);
    }
  }
}

struct soak_settings {
  std::uint64_t seed = 1, first = 0;
  std::uint64_t cases = 0;  // 0: no limit
  double seconds = 0;       // 0: no limit
  int threads = 1;
  bool starved = false;
};

// Cases in progress by thread, plus one; named when the process dies.
constexpr int most_threads = 64;
std::atomic<std::uint64_t> in_progress[most_threads];

extern "C" void name_cases(int signal) {
  for (const auto& slot : in_progress) {
    std::uint64_t number = slot.load();
    if (number-- == 0) continue;
    char text[96] = "failed: case ";
    std::size_t end = 13;
    char digits[24];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) text[end++] = digits[--count];
    constexpr std::string_view tail = " was in progress when the process died\n";
    for (const char c : tail) text[end++] = c;
    if (::write(STDOUT_FILENO, text, end) < 0) break;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int soak(const soak_settings& s) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL})
    std::signal(signal, name_cases);
  const abilities can = find_abilities();
  std::atomic<std::uint64_t> next{s.first}, done{0};
  std::atomic<int> failures{0};
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = [&] {
    return s.seconds > 0 &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >=
               s.seconds;
  };
  const auto work = [&](std::size_t thread) {
    while (failures < 5 && !ended()) {
      const std::uint64_t number = next++;
      if (s.cases > 0 && number >= s.first + s.cases) break;
      in_progress[thread] = number + 1;
      try {
        s.starved ? run_starved(s.seed, number, can) : run_case(s.seed, number, can);
      } catch (const std::exception& e) {
        ++failures;
        std::printf("failed: case %llu: %s\n", static_cast<unsigned long long>(number), e.what());
        std::fflush(stdout);
      }
      ++done;
    }
    in_progress[thread] = 0;
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < std::min(s.threads, most_threads); ++t) {
    threads.emplace_back(work, static_cast<std::size_t>(t));
  }
  work(0);
  for (std::thread& t : threads) t.join();
  std::printf("%llu executions%s\n", static_cast<unsigned long long>(done.load()),
              watches_malloc() ? "" : ", operator new only");
  return failures == 0 ? 0 : 1;
}

}  // namespace

}  // namespace gsofa::soak

int main(int argc, char** argv) {
  gsofa::soak::soak_settings s;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const auto number = [&] { return std::strtoull(argv[k] + word.find('=') + 1, nullptr, 10); };
    if (word.starts_with("--seed=")) {
      s.seed = number();
    } else if (word.starts_with("--first=")) {
      s.first = number();
    } else if (word.starts_with("--cases=")) {
      s.cases = number();
    } else if (word.starts_with("--seconds=")) {
      s.seconds = std::strtod(argv[k] + word.find('=') + 1, nullptr);
    } else if (word.starts_with("--threads=")) {
      s.threads = static_cast<int>(number());
    } else if (word == "--planted") {
      gsofa::soak::planted = true;
    } else if (word == "--starved") {
      s.starved = true;
    } else {
      std::fprintf(stderr,
                   "Usage: gsofa_soak_oracle [--seed=N] [--first=N] [--cases=N] [--seconds=S] "
                   "[--threads=T] [--starved]\n");
      return 2;
    }
  }
  return gsofa::soak::soak(s);
}
