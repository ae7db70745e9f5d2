#include "common/matching.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "common/ordering.hpp"
#include "common/parallel.hpp"
#include "common/text.hpp"

namespace gsofa {

namespace {

__extension__ typedef unsigned __int128 wide_t;

constexpr int log_bits = 62;  // of a logarithm's fraction and of a significand's
constexpr int table_bits = 8;

// log2(1 + t / 256) in units of 2^-62, one bit at a time: squaring doubles a logarithm.
constexpr std::uint64_t log2_by_squaring(unsigned t) {
  std::uint64_t x = std::uint64_t{(1U << table_bits) + t} << (log_bits - table_bits);
  std::uint64_t log = 0;
  for (int bit = log_bits - 1; bit >= 0; --bit) {
    const wide_t square = (wide_t{x} * x) >> log_bits;
    const bool set = (square >> (log_bits + 1)) != 0;
    x = static_cast<std::uint64_t>(set ? square >> 1 : square);
    log |= std::uint64_t{set} << bit;
  }
  return log;
}

std::uint64_t product(std::uint64_t x, std::uint64_t y, int shift) {
  return static_cast<std::uint64_t>((wide_t{x} * y) >> shift);
}

[[noreturn]] void refuse_value(index_t row, index_t col, double value) {
  throw input_error("row " + std::to_string(row + 1) + ", column " + std::to_string(col + 1) +
                    ": the value is " + (std::isnan(value) ? "not a number" : "infinite"));
}

}  // namespace

int matching_fraction_bits(index_t n) {
  return std::min(40, 48 - static_cast<int>(std::bit_width(static_cast<std::uint32_t>(n))));
}

// value = 2^e (m_t + d) with m_t = 1 + t/256 <= the significand, and r = d / m_t < 2^-8:
// log2(value) = e + log2(m_t) + log2(e) (r - r^2/2 + r^3/3 - r^4/4 + r^5/5), the rest < 2^-50.
std::int64_t fixed_log2(double value, int bits) {
  static constexpr auto table = [] {
    std::array<std::uint64_t, 1U << table_bits> logs{};
    for (unsigned t = 0; t < logs.size(); ++t) logs[t] = log2_by_squaring(t);
    return logs;
  }();
  constexpr std::uint64_t log2_of_e = 0x5C551D94AE0BF85D;  // in units of 2^-62
  constexpr int fraction = std::numeric_limits<double>::digits - 1;
  const auto word = std::bit_cast<std::uint64_t>(value);
  int exponent = static_cast<int>(word >> fraction);
  std::uint64_t significand = word & ((std::uint64_t{1} << fraction) - 1);
  if (exponent == 0) {  // denormal
    const int shift = fraction + 1 - static_cast<int>(std::bit_width(significand));
    significand <<= shift;
    exponent = 1 - shift;
  } else {
    significand |= std::uint64_t{1} << fraction;
  }
  exponent -= 1023;
  const std::uint64_t m = significand << (log_bits - fraction);
  const auto t = static_cast<std::size_t>((m >> (log_bits - table_bits)) & 255U);
  const std::uint64_t d = m & ((std::uint64_t{1} << (log_bits - table_bits)) - 1);
  const std::uint64_t r = (d << table_bits) / (256 + t);  // in units of 2^-62
  const std::uint64_t r2 = product(r, r, log_bits);
  const std::uint64_t r3 = product(r2, r, log_bits);
  const std::uint64_t r4 = product(r2, r2, log_bits);
  const std::uint64_t r5 = product(r3, r2, log_bits);
  const std::uint64_t natural = r - r2 / 2 + r3 / 3 - r4 / 4 + r5 / 5;
  const std::uint64_t log = table[t] + product(natural, log2_of_e, log_bits);
  return exponent * (std::int64_t{1} << bits) + static_cast<std::int64_t>(log >> (log_bits - bits));
}

matching_costs costs_of(const pattern_view& a, std::span<const double> values, int threads) {
  if (values.size() != at(a.nnz())) {
    throw input_error("the matching needs a value of every entry: " + std::to_string(a.nnz()) +
                      " entries, " + std::to_string(values.size()) + " values");
  }
  matching_costs c;
  c.fraction_bits = matching_fraction_bits(std::max(a.n_rows, a.n_cols));
  c.cost.assign(values.size(), no_candidate);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
      if (!std::isfinite(values[p])) refuse_value(i, a.col_idx[p], values[p]);
    }
  }
  const auto entries = [&](const auto& action) {
    parallel_ranges(threads, values.size(), std::size_t{16384},
                    [&](int, std::size_t p, std::size_t end) {
                      for (; p < end; ++p) action(p);
                    });
  };
  entries([&](std::size_t p) {
    if (values[p] != 0) c.cost[p] = fixed_log2(std::abs(values[p]), c.fraction_bits);
  });
  constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> largest(at(a.n_cols), nothing);
  for (std::size_t p = 0; p < values.size(); ++p) {
    std::int64_t& most = largest[at(a.col_idx[p])];
    if (c.cost[p] != no_candidate) most = std::max(most, c.cost[p]);
  }
  entries([&](std::size_t p) {
    if (c.cost[p] != no_candidate) c.cost[p] = largest[at(a.col_idx[p])] - c.cost[p];
  });
  std::ranges::replace(largest, nothing, std::int64_t{0});
  c.column_log = std::move(largest);
  return c;
}

// Pairs (j, k): row_of_col[j] has column k, and column j has the row that is matched to k.
offset_t count_symmetric(const pattern_view& a, const pattern_view& t,
                         std::span<const index_t> row_of_col, std::span<const index_t> col_of_row) {
  std::vector<index_t> seen_for(at(a.n_cols), -1);
  offset_t count = 0;
  for (index_t j = 0; j < a.n_cols; ++j) {
    if (row_of_col[at(j)] < 0) continue;
    for (const index_t k : a.row(row_of_col[at(j)])) seen_for[at(k)] = j;
    for (const index_t i : t.row(j)) {
      const index_t k = col_of_row[at(i)];
      count += static_cast<offset_t>(k >= 0 && k != j && seen_for[at(k)] == j);
    }
  }
  return count;
}

const std::vector<matching_info>& all_matchings() {
  return detail::described<matching_info>("matchings");
}

matching_request find_matching(const std::string& spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string name = spec.substr(0, colon);
  const auto& all = all_matchings();
  const auto info = std::ranges::find(all, name, &matching_info::name);
  if (info != all.end()) {
    const std::string_view options =
        std::string_view(spec).substr(std::min(colon + 1, spec.size()));
    return {&*info, parse_options(info->options, options, "matching " + name)};
  }
  std::vector<std::string> names{"auto", "none"};
  std::string list = "auto, none";
  for (const matching_info& m : all) {
    names.push_back(m.name);
    list += ", " + m.name;
  }
  const std::string hint = nearest(name, names);
  throw input_error("unknown matching '" + spec + "'" +
                    (hint.empty() ? ": one of " : "; did you mean '" + hint + "'? One of ") + list);
}

namespace {

// The unmatched rows and columns. Throws error if a row is matched twice.
std::vector<index_t> find_unmatched(index_t n, row_matching& m) {
  std::vector<index_t> col_of_row(at(n), -1);
  for (index_t j = 0; j < n; ++j) {
    const index_t i = m.row_of_col[at(j)];
    if (i < 0) {
      m.unmatched_cols.push_back(j);
    } else if (std::exchange(col_of_row[at(i)], j) != -1) {
      throw error(exit_code::run_failed,
                  "matching " + m.method + ": row " + std::to_string(i + 1) + " is matched twice");
    }
  }
  for (index_t i = 0; i < n; ++i) {
    if (col_of_row[at(i)] == -1) m.unmatched_rows.push_back(i);
  }
  return col_of_row;
}

double power_of_two(std::int64_t log, int bits) {
  const double x = std::ldexp(static_cast<double>(log), -bits);
  return std::exp2(std::clamp(x, -1022.0, 1023.0));
}

void add_scales(const matching_costs& c, row_matching& m) {
  for (const std::int64_t u : m.row_dual) m.row_scale.push_back(power_of_two(u, c.fraction_bits));
  for (std::size_t j = 0; j < m.col_dual.size(); ++j) {
    m.col_scale.push_back(power_of_two(m.col_dual[j] - c.column_log[j], c.fraction_bits));
  }
}

double least_matched(const pattern_view& a, const matching_costs& c, const row_matching& m) {
  std::int64_t most = 0;
  for (index_t j = 0; j < a.n_cols; ++j) {
    const index_t i = m.row_of_col[at(j)];
    if (i < 0) continue;
    const auto row = a.row(i);
    const auto found = std::ranges::lower_bound(row, j);
    if (found == row.end() || *found != j) return 0;  // kept
    most = std::max(most, c.cost[at(a.row_ptr[at(i)] + (found - row.begin()))]);
  }
  return most == no_candidate ? 0 : power_of_two(-most, c.fraction_bits);
}

std::string describe(const row_matching& m, index_t n) {
  std::string how = m.kept ? "kept" : m.method;
  if (m.symmetric_pattern && m.zero_diagonal > 0) {
    how += ": symmetric pattern with " + std::to_string(m.zero_diagonal) +
           " zeros on the diagonal, " +
           (m.kept ? "which the factorization tolerates" : "rows permuted");
  } else if (!m.kept && std::ranges::equal(m.row_of_col, identity_order(n))) {
    how += ": rows in place";
  }
  return m.note.empty() ? how : how + "; " + m.note;
}

}  // namespace

row_matching compute_matching(const pattern_view& a, std::span<const double> values,
                              const std::string& spec, matching_settings settings) {
  auto [info, options] = find_matching(spec);
  if (a.n_rows != a.n_cols) {
    throw input_error("the matching needs a square matrix, not " + std::to_string(a.n_rows) +
                      " x " + std::to_string(a.n_cols));
  }
  if (const auto why = info->unavailable()) throw unavailable_error(*why);
  if (info->needs_values && values.empty() && a.nnz() > 0) {
    throw input_error("matching " + info->name + " needs the values of the matrix");
  }
  settings.options = std::move(options);
  const bool has_values = info->needs_values || !values.empty();
  const matching_costs costs =
      has_values ? costs_of(a, values, settings.threads) : matching_costs{};
  const pattern t = transpose(a);
  const bool symmetric =
      std::ranges::equal(a.row_ptr, t.row_ptr) && std::ranges::equal(a.col_idx, t.col_idx);
  row_matching m = info->compute({a, t, has_values ? &costs : nullptr}, settings);
  m.method = spec;
  m.symmetric_pattern = symmetric;
  m.zero_diagonal = count_missing_diagonal(a);
  auto col_of_row = find_unmatched(a.n_rows, m);
  m.structural_rank = a.n_rows - static_cast<index_t>(m.unmatched_cols.size());
  m.kept = settings.keeps_symmetric && symmetric && m.zero_diagonal > 0;
  if (m.kept) {
    m.row_of_col = col_of_row = identity_order(a.n_rows);
    m.row_dual.clear();
    m.col_dual.clear();
  }
  m.symmetric_entries = count_symmetric(a, t, m.row_of_col, col_of_row);
  if (!m.col_dual.empty()) add_scales(costs, m);
  if (has_values) m.least_matched = least_matched(a, costs, m);
  m.how = describe(m, a.n_rows);
  return m;
}

}  // namespace gsofa
