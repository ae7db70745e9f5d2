#include "harness/run/distribute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <new>
#include <span>
#include <string>

#include "common/digest.hpp"
#include "harness/run/status.hpp"

namespace gsofa {

namespace {
constexpr std::size_t broadcast_piece = std::size_t{1} << 22;  // bytes
}  // namespace

prepared_pattern load_on_root(mpi_context& j, const std::function<prepared_pattern()>& load) {
  prepared_pattern on_root;
  j.on_root([&] { on_root = load(); });
  if (j.ranks() == 1) return on_root;
  std::string origin = j.root() ? to_json(on_root.origin()) : "";
  j.broadcast(origin);
  std::int64_t sizes[2] = {on_root.view().n_rows, on_root.view().nnz()};
  j.broadcast_bytes(sizes, sizeof sizes);
  pattern a;
  std::vector<index_t> row_order, col_order;
  j.collective_try([&] {
    if (j.root()) return;
    const auto n = static_cast<std::size_t>(sizes[0]);
    a.n_rows = a.n_cols = static_cast<index_t>(sizes[0]);
    a.row_ptr.resize(n + 1);
    a.col_idx.resize(static_cast<std::size_t>(sizes[1]));
    row_order.resize(n);
    col_order.resize(n);
  });
  // The arrays of rank 0 may lie in a mapped file, where nothing can be written; a broadcast may
  // write to its root's buffer (Open MPI's by scatter and allgather does). Hence copies, by pieces.
  std::vector<std::byte> copy;
  auto send = [&](auto from, auto& to) {
    const auto source = std::as_bytes(std::span(from));
    const auto target = std::as_writable_bytes(std::span(to));
    const std::size_t size = j.root() ? source.size() : target.size();
    for (std::size_t at = 0, now = 0; at < size; at += now) {
      now = std::min(broadcast_piece, size - at);
      if (j.root()) {
        const auto piece = source.subspan(at, now);
        copy.assign(piece.begin(), piece.end());
      }
      j.broadcast_bytes(j.root() ? copy.data() : target.data() + at, now);
    }
  };
  send(on_root.view().row_ptr, a.row_ptr);
  send(on_root.view().col_idx, a.col_idx);
  send(on_root.row_order(), row_order);
  send(on_root.col_order(), col_order);
  if (j.root()) return on_root;
  return {std::move(a), std::move(row_order), std::move(col_order),
          from_json(origin, "the prepared matrix of rank 0")};
}

std::string rank_pattern_fault(const result& mine, const std::vector<index_t>& l_row_counts,
                               const std::vector<index_t>& u_row_counts,
                               const std::vector<std::uint64_t>& row_digests) {
  const auto& rows = mine.pattern_rows.value();
  const index_t n = mine.u.n_rows;
  if (mine.l.n_rows != n || static_cast<std::size_t>(n) != row_digests.size()) {
    return "the parts of the pattern have another order";
  }
  auto ascending = [](std::span<const index_t> columns) {
    return std::ranges::adjacent_find(columns, std::ranges::greater_equal()) == columns.end();
  };
  offset_t listed = 0;
  for (const index_t i : rows) {
    const auto at = static_cast<std::size_t>(i);
    const auto lower = mine.l.row(i);
    const auto upper = mine.u.row(i);
    listed += std::ssize(lower) + std::ssize(upper);
    if (!ascending(lower) || !ascending(upper)) return fmt::format("row {} is not sorted", i);
    if (!lower.empty() && (lower.front() < 0 || lower.back() >= i)) {
      return fmt::format("row {} of L has a column outside [0, {})", i, i);
    }
    if (upper.empty() || upper.front() != i || upper.back() >= n) {
      return fmt::format("row {} of U does not lie between the diagonal and column {}", i, n);
    }
    if (std::ssize(lower) != l_row_counts[at] || std::ssize(upper) != u_row_counts[at]) {
      return fmt::format("row {} of the pattern has {} + {} entries, its counts are {} + {}", i,
                         lower.size(), upper.size(), l_row_counts[at], u_row_counts[at]);
    }
    if (row_digest(i, lower) + row_digest(i, upper) != row_digests[at]) {
      return fmt::format("row {} of the pattern has another digest than its row", i);
    }
  }
  if (listed != mine.l.nnz() + mine.u.nnz()) return "entries in rows that are not listed";
  return "";
}

std::string distributed_pattern_fault(mpi_context& j, const result& mine) {
  auto l_counts = mine.l_row_counts;
  auto u_counts = mine.u_row_counts;
  auto digests = mine.row_digests;
  j.broadcast(l_counts);
  j.broadcast(u_counts);
  j.broadcast(digests);
  const std::string here = rank_pattern_fault(mine, l_counts, u_counts, digests);
  const auto faults = j.gather(std::vector<char>(here.begin(), here.end()));
  const auto lists = j.gather(mine.pattern_rows.value());
  if (!j.root()) return "";
  for (std::size_t r = 0; r < faults.size(); ++r) {
    if (!faults[r].empty()) {
      return fmt::format("rank {}: {}", r, std::string(faults[r].begin(), faults[r].end()));
    }
  }
  std::vector<int> times(digests.size(), 0);
  for (const auto& list : lists) {
    for (const index_t i : list) ++times[static_cast<std::size_t>(i)];
  }
  const auto wrong = std::ranges::find_if(times, [](int t) { return t != 1; });
  if (wrong == times.end()) return "";
  return fmt::format("row {} of the pattern is on {} ranks", wrong - times.begin(), *wrong);
}

std::string rank_map(const mpi_context& j) {
  return fmt::format("{}", fmt::join(j.ranks_per_node(), ","));
}

exit_code root_only(const std::function<exit_code()>& action) {
  mpi_context& j = mpi_context::world();
  exit_code code = exit_code::ok;
  j.on_root([&] { code = action(); });
  j.broadcast(code);
  return code;
}

void abort_job(const char* message) noexcept {
  mpi_context& j = mpi_context::world();
  std::string shown;
  try {
    shown = one_line(message);
    message = shown.c_str();
  } catch (const std::bad_alloc&) {
    // It is printed as it is.
  }
  // The message may be of any length and of several lines, and there may be no memory left.
  char line[2048];
  std::size_t used = 0;
  for (; message[used] != '\0' && used + 1 < sizeof line; ++used) {
    const char c = message[used];
    line[used] = c == '\n' || c == '\r' ? ' ' : c;
  }
  line[used] = '\0';
  std::fprintf(stderr, "gsofa: error: rank %d: %s\n", j.rank(), line);
  j.abort(static_cast<int>(exit_code::run_failed));
}

}  // namespace gsofa
