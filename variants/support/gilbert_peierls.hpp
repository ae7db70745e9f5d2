#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "common/digest.hpp"
#include "common/variant.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/supernodes.hpp"

namespace gsofa::detail {

/// Gilbert & Peierls 1988 (SIAM J. Sci. Stat. Comput. 9), applied to A^T: row i of L+U is the set
/// of vertices reachable from A(i,:) in the graph of the rows of U before i. Two reductions, both
/// exact, apply:
/// * supernodes (Demmel et al. 1999): rows b..t with U(k,:) = U(k-1,:) \ {k-1} share one list,
///    U(t, >t). Reaching k in it reaches k+1..t and that list, so that a supernode is one vertex.
/// * symmetric pruning (Eisenstat & Liu 1992, SIMAX 13): let s be the least row > t with L(s,t)
///    and U(t,s) nonzero. U(t, >s) is part of U(s,:), and every search that reaches t reaches s, so
///    that later searches need no entry of the list beyond s.
///
/// A row i that reaches row i-1 with i in U(i-1,:) already contains the list of the open supernode;
/// it joins the supernode iff its search finds no column outside the list. The search then touches
/// nothing of length |U(i,:)|: its work is that below i alone.
///
/// Arrays: supernode_of[k]; per supernode K: first, last row, list [list_begin, list_end) into
/// `lists`, of which searches still need [list_begin, search_end). The list of the open supernode
/// is that of its first row, columns > first. in_open[c] == K: c is in the open list. L part of row
/// i: the first row reached in each supernode, `segments`; row k stands for k..last.
/// Cost: sum over rows of the searched list entries; memory 4 bytes per list entry and segment,
/// and in addition 36|V| bytes, and 40 per supernode. The supernodes here (L(i,i-1) instead of
/// L(i,b)) may join several T3 ones.
class gilbert_peierls {
 public:
  void prepare(const pattern_view& a, const run_settings& settings) {
    a_ = a;
    settings_ = settings;
  }

  /// Factorizes; stops and returns false once more than `edge_limit` list entries are searched.
  bool run(run_context& context, offset_t edge_limit = std::numeric_limits<offset_t>::max()) {
    reset();
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if ((i & 255) == 0) context.check_deadline(i, a_.n_rows);
      search(i);
      if (edges_ > edge_limit) return false;
    }
    if (!supernodes_.empty()) close_open();
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(context, phase_id::supernode);
      t3_starts_ = t3_post_pass(u_counts_, settings_.chunk_size,
                                [&](index_t s, index_t r) { return has_l(s, r); });
    }
    if constexpr (counting) {
      context.counters.totals["edges_traversed"] = edges_;
      context.counters.totals["segments"] = static_cast<offset_t>(segments_.size());
      context.counters.totals["list_entries"] = static_cast<offset_t>(lists_.size());
    }
    return true;
  }

  result collect(want_set wants) {
    result out;
    for (index_t i = 0; i < a_.n_rows; ++i) {
      out.nnz_l += l_counts_[at(i)];
      out.nnz_u += u_counts_[at(i)];
    }
    if (wants.has(want::counts)) {
      out.l_row_counts = l_counts_;
      out.u_row_counts = u_counts_;
    }
    if (wants.has(want::supernodes)) out.supernode_starts = t3_starts_;
    if (!wants.has(want::digest) && !wants.has(want::pattern)) return out;

    const bool keep = wants.has(want::pattern);
    out.l.n_rows = out.l.n_cols = out.u.n_rows = out.u.n_cols = a_.n_rows;
    if (keep) {
      out.l.col_idx.reserve(at(out.nnz_l));
      out.u.col_idx.reserve(at(out.nnz_u));
    }
    std::vector<index_t> row;
    for (index_t i = 0; i < a_.n_rows; ++i) {
      std::uint64_t digest = 0;
      for (const bool low : {true, false}) {
        row.clear();
        low ? expand_l(i, row) : expand_u(i, row);
        if (wants.has(want::digest)) digest += row_digest(i, row);
        if (!keep) continue;
        std::ranges::sort(row);
        pattern& p = low ? out.l : out.u;
        p.col_idx.insert(p.col_idx.end(), row.begin(), row.end());
        p.row_ptr.push_back(static_cast<offset_t>(p.col_idx.size()));
      }
      if (wants.has(want::digest)) {
        out.row_digests.push_back(digest);
        out.digest += digest;
      }
    }
    return out;
  }

 private:
  struct supernode {
    index_t first;
    index_t last;
    offset_t list_begin;
    offset_t list_end;
    offset_t search_end;
    bool pruned;
  };

  void reset() {
    const auto n = at(a_.n_rows);
    supernode_of_.assign(n, -1);
    in_open_.assign(n, -1);
    mark_.assign(n, -1);
    reached_.assign(n, -1);
    reached_first_.assign(n, 0);
    l_counts_.assign(n, 0);
    u_counts_.assign(n, 0);
    supernodes_.clear();
    lists_.clear();
    segments_.clear();
    segment_ptr_.assign(1, 0);
    segment_ptr_.reserve(n + 1);
    edges_ = 0;
  }

  // Column c of row i is found: below i it is a row to search, above i a candidate for U(i,:).
  void enter(index_t i, index_t c) {
    if (c < i) {
      const index_t k = supernode_of_[at(c)];
      if (reached_[at(k)] != i) {
        reached_[at(k)] = i;
        reached_first_[at(k)] = c;
        stack_.push_back(k);
      } else if (c < reached_first_[at(k)]) {
        reached_first_[at(k)] = c;
      }
    } else if (c > i && mark_[at(c)] != i) {
      mark_[at(c)] = i;
      candidates_.push_back(c);
    }
  }

  void search(index_t i) {
    const auto open = static_cast<index_t>(supernodes_.size()) - 1;
    candidates_.clear();
    stack_.clear();
    for (const index_t c : a_.row(i)) enter(i, c);
    edges_ += static_cast<offset_t>(a_.row(i).size());
    // stack_ becomes the list of all supernodes reached; the open one is not searched.
    for (std::size_t head = 0; head < stack_.size(); ++head) {
      const index_t k = stack_[head];
      if (k == open) continue;
      supernode& node = supernodes_[at(k)];
      bool symmetric = false;
      edges_ += node.search_end - node.list_begin;
      for (offset_t p = node.list_begin; p < node.search_end; ++p) {
        const index_t c = lists_[at(p)];
        symmetric |= c == i;
        enter(i, c);
      }
      if (symmetric && !node.pruned) prune(node, i);
    }

    offset_t l_count = 0;
    for (const index_t k : stack_) {
      const index_t first = reached_first_[at(k)];
      segments_.push_back(first);
      l_count += supernodes_[at(k)].last - first + 1;
    }
    segment_ptr_.push_back(static_cast<offset_t>(segments_.size()));
    l_counts_[at(i)] = static_cast<index_t>(l_count);

    const bool above = open >= 0 && reached_[at(open)] == i;  // L(i, i-1) != 0
    const bool contained =
        above && in_open_[at(i)] == open &&
        std::ranges::all_of(candidates_, [&](index_t c) { return in_open_[at(c)] == open; });
    if (contained) {
      supernodes_[at(open)].last = i;
      supernode_of_[at(i)] = open;
      u_counts_[at(i)] = u_counts_[at(i) - 1] - 1;
    } else {
      begin_supernode(i, open, above);
    }
  }

  // Row i opens a supernode; its list is the candidates and, if it reaches row i-1, the open list.
  void begin_supernode(index_t i, index_t open, bool above) {
    if (open >= 0) {
      close_open();
      supernode& previous = supernodes_[at(open)];
      if (above) {
        const bool symmetric = in_open_[at(i)] == open;
        for (offset_t p = previous.list_begin; p < previous.list_end; ++p) {
          const index_t c = lists_[at(p)];
          if (c > i && mark_[at(c)] != i) {
            mark_[at(c)] = i;
            candidates_.push_back(c);
          }
        }
        if (symmetric) prune(previous, i);
      }
    }
    const auto k = static_cast<index_t>(supernodes_.size());
    const auto begin = static_cast<offset_t>(lists_.size());
    lists_.insert(lists_.end(), candidates_.begin(), candidates_.end());
    const auto end = static_cast<offset_t>(lists_.size());
    supernodes_.push_back({i, i, begin, end, end, false});
    supernode_of_[at(i)] = k;
    for (const index_t c : candidates_) in_open_[at(c)] = k;
    u_counts_[at(i)] = static_cast<index_t>(candidates_.size()) + 1;
  }

  // Drops the rows of the open supernode itself from its list.
  void close_open() {
    supernode& node = supernodes_.back();
    const auto begin = lists_.begin() + node.list_begin;
    if (node.last > node.first) {
      lists_.erase(std::remove_if(begin, lists_.end(), [&](index_t c) { return c <= node.last; }),
                   lists_.end());
    }
    node.list_end = node.search_end = static_cast<offset_t>(lists_.size());
  }

  // s is the least row with L(s, last) and U(last, s) nonzero: keep entries <= s in the search.
  void prune(supernode& node, index_t s) {
    const auto begin = lists_.begin() + node.list_begin;
    const auto split =
        std::partition(begin, lists_.begin() + node.list_end, [s](index_t c) { return c <= s; });
    node.search_end = node.list_begin + (split - begin);
    node.pruned = true;
  }

  std::span<const index_t> segments(index_t i) const {
    return std::span<const index_t>(segments_).subspan(
        at(segment_ptr_[at(i)]), at(segment_ptr_[at(i) + 1] - segment_ptr_[at(i)]));
  }
  // Last row that a segment of row i stands for: the supernode's, or i-1 if i itself is in it.
  index_t segment_last(index_t i, index_t first) const {
    return std::min(supernodes_[at(supernode_of_[at(first)])].last, i - 1);
  }
  bool has_l(index_t s, index_t r) const {
    return std::ranges::any_of(
        segments(s), [&](index_t first) { return first <= r && r <= segment_last(s, first); });
  }
  void expand_l(index_t i, std::vector<index_t>& row) const {
    for (const index_t first : segments(i)) {
      for (index_t k = first; k <= segment_last(i, first); ++k) row.push_back(k);
    }
  }
  void expand_u(index_t i, std::vector<index_t>& row) const {
    const supernode& node = supernodes_[at(supernode_of_[at(i)])];
    for (index_t k = i; k <= node.last; ++k) row.push_back(k);
    row.insert(row.end(), lists_.begin() + node.list_begin, lists_.begin() + node.list_end);
  }

  pattern_view a_;
  run_settings settings_;
  std::vector<index_t> supernode_of_, in_open_, mark_, reached_, reached_first_;
  std::vector<supernode> supernodes_;
  std::vector<index_t> lists_, segments_, candidates_, stack_;
  std::vector<offset_t> segment_ptr_;
  std::vector<index_t> l_counts_, u_counts_, t3_starts_;
  offset_t edges_ = 0;
};

}  // namespace gsofa::detail
