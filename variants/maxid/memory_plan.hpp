#pragma once

/// Division of device memory among the structures of the maxId search (paper Section 6), for #C
/// concurrent sources of order |V|, with queues of Q places:
///
///     fill          4 |V| #C bytes
///     maxId         4 (|V| #C - #C (#C + 1) / 2) bytes, what the last and largest sources need, or
///                   4 |V| #C without bubble removal
///     queues        16 Q bytes, two of 8 bytes a place: vertex and tracker
///     redo          a bit for each place that the queues have, or gain where maxId needs less
///
/// fill and maxId have priority: #C is the largest number for which they fit together with the
/// smallest queues, which have queue_share percent of |V| #C places. The queues get the remaining
/// memory.

#include <algorithm>
#include <string>

#include "common/error.hpp"
#include "common/types.hpp"

namespace gsofa::maxid {

/// The memory to divide, and the search.
struct memory_request {
  index_t order = 0;          ///< |V|
  offset_t bytes = 0;         ///< to be divided
  index_t most_sources = 0;   ///< upper limit of #C
  offset_t source_bytes = 0;  ///< per source, in addition to these structures
  bool bubble_removal = true;
  bool separate_queues = false;   ///< one queue per source
  bool external_frontier = true;  ///< false: the queues hold |V| #C entries
  bool fill_up = false;           ///< the queues get all remaining memory
  offset_t queue_share = 25;      ///< least places of a queue, percent of |V| #C
  offset_t queue_entries = 0;     ///< exact places of a queue; 0: by share
};

/// A division of memory; arena of fill, maxId and queues in words of 4 bytes.
struct memory_division {
  index_t sources = 0;         ///< #C
  offset_t maxid_words = 0;    ///< of the batch with the largest sources
  offset_t queue_entries = 0;  ///< places of each of the two queues in that batch
  offset_t redo_words = 0;
};

/// Largest number of places of a queue: its tail is a 32-bit word, which also counts requests
/// beyond the end.
constexpr offset_t most_queue_entries = offset_t{1} << 31;

/// Divides memory by the rule above.
class memory_planner {
 public:
  explicit memory_planner(const memory_request& r) : r_(r) {}

  /// Throws budget_error if one source does not fit.
  [[nodiscard]] memory_division divide() const {
    // The least need grows with #C.
    index_t c = 0;
    for (index_t above = r_.most_sources; c < above;) {
      const index_t middle = above - (above - c) / 2;
      if (bytes(middle, least_queue(middle)) <= r_.bytes) {
        c = middle;
      } else {
        above = middle - 1;
      }
    }
    if (c == 0) {
      throw budget_error("memory budget: " + std::to_string(r_.bytes) +
                         " bytes are too few for one source of order " + std::to_string(r_.order));
    }
    offset_t q = std::min(usual_queue(c), places_within(r_.bytes - bytes(c, 0)));
    q = std::max(q, least_queue(c));
    if (r_.separate_queues) q = q / c * c;
    return {c, maxid_words(c), q, redo_words(c, q)};
  }

 private:
  [[nodiscard]] offset_t whole(index_t c) const { return offset_t{c} * r_.order; }
  [[nodiscard]] offset_t maxid_words(index_t c) const {
    return whole(c) - (r_.bubble_removal ? offset_t{c} * (offset_t{c} + 1) / 2 : 0);
  }
  [[nodiscard]] offset_t by_share(index_t c) const { return whole(c) * r_.queue_share / 100; }
  [[nodiscard]] offset_t least_queue(index_t c) const {
    offset_t q = r_.separate_queues ? r_.queue_entries * c : r_.queue_entries;
    if (r_.queue_entries == 0) {
      q = r_.external_frontier
              ? std::max(by_share(c), std::min(whole(c), std::max<offset_t>(c, 1024)))
              : whole(c);
    }
    return std::min(q, most_queue_entries);
  }
  // More than |V| #C places are useless; separate queues cannot borrow places from each other.
  [[nodiscard]] offset_t usual_queue(index_t c) const {
    if (r_.queue_entries > 0 || !r_.external_frontier) return least_queue(c);
    const offset_t q = r_.separate_queues ? std::max(whole(c), 64 * offset_t{c})
                       : r_.fill_up       ? whole(c)
                                    : std::max(by_share(c), std::min(whole(c), offset_t{1} << 20));
    return std::min(q, most_queue_entries);
  }
  [[nodiscard]] offset_t redo_words(index_t c, offset_t q) const {
    return (std::max<offset_t>(c, maxid_words(c) / 4 + q + 1) + 31) / 32;
  }
  [[nodiscard]] offset_t bytes(index_t c, offset_t q) const {
    const offset_t arena = whole(c) + maxid_words(c) + 4 * q + 2;
    const offset_t tails = r_.separate_queues ? 20 * offset_t{c} + 8 : 0;
    return 4 * (arena + redo_words(c, q)) + tails + r_.source_bytes * c;
  }
  // Two entries of 8 bytes and a redo bit each, which begin at most one word more.
  [[nodiscard]] static offset_t places_within(offset_t bytes) {
    return std::max<offset_t>(0, bytes - 4) * 8 / 129;
  }

  memory_request r_;
};

}  // namespace gsofa::maxid
