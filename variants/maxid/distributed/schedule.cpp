#include "variants/maxid/distributed/schedule.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/preprocess.hpp"

namespace gsofa::maxid {

namespace {

constexpr std::array<const char*, 4> names{"block", "inter_node", "intra_node", "dynamic"};

// [begin, end) of part `k` of `count` items in `parts` parts, the first ones one larger.
struct range {
  index_t begin, end;
};
range part(index_t count, int k, int parts) {
  const index_t each = count / parts;
  const index_t more = count % parts;
  const index_t begin = k * each + std::min<index_t>(k, more);
  return {begin, begin + each + (k < more ? 1 : 0)};
}

}  // namespace

schedule_kind parse_schedule(const std::string& name) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (name == names[k]) return static_cast<schedule_kind>(k);
  }
  throw input_error("unknown schedule '" + name +
                    "': one of block, inter_node, intra_node, dynamic");
}

std::vector<std::string> schedule_names() { return {names.begin(), names.end()}; }

chunking::chunking(index_t n, index_t chunk_size)
    : n_(n),
      size_(std::max<index_t>(1, chunk_size == 0 ? n : std::min(chunk_size, n))),
      count_(n == 0 ? 0 : (n - 1) / size_ + 1) {}

std::string concurrency::equation() const {
  const bool equal =
      offset_t{chunk_size} * chunks_per_node == offset_t{concurrent_sources} * workers;
  return std::to_string(chunk_size) + " x " + std::to_string(chunks_per_node) +
         (equal ? " = " : " ~ ") + std::to_string(concurrent_sources) + " x " +
         std::to_string(workers);
}

concurrency derive_concurrency(index_t chunk_size, index_t concurrent_sources, int workers) {
  concurrency c;
  c.chunk_size = std::max<index_t>(1, chunk_size);
  c.concurrent_sources = concurrent_sources;
  c.workers = workers;
  const offset_t sources = offset_t{concurrent_sources} * workers;
  c.chunks_per_node =
      static_cast<index_t>(std::clamp<offset_t>(sources / c.chunk_size, 1, max_index));
  return c;
}

std::vector<index_t> chunks_of_rank(schedule_kind kind, index_t chunks, int rank, int ranks) {
  std::vector<index_t> mine;
  if (kind == schedule_kind::block) {
    const range r = part(chunks, rank, ranks);
    for (index_t c = r.begin; c < r.end; ++c) mine.push_back(c);
  } else {
    for (offset_t c = rank; c < chunks; c += ranks) mine.push_back(static_cast<index_t>(c));
  }
  return mine;
}

std::vector<row_set> rows_of_worker(schedule_kind kind, const chunking& chunks,
                                    std::span<const index_t> batch, int worker, int workers) {
  std::vector<row_set> rows;
  if (kind == schedule_kind::intra_node) {
    for (const index_t c : batch) {
      const index_t size = chunks.end(c) - chunks.begin(c);
      if (worker >= size) continue;
      rows.push_back({.begin = chunks.begin(c) + worker,
                      .stride = workers,
                      .count = (size - 1 - worker) / workers + 1});
    }
    return rows;
  }
  const range r = part(static_cast<index_t>(batch.size()), worker, workers);
  for (index_t k = r.begin; k < r.end; ++k) {
    const index_t c = batch[static_cast<std::size_t>(k)];
    const index_t begin = chunks.begin(c);
    const index_t count = chunks.end(c) - begin;
    // Neighbouring chunks form one set.
    if (!rows.empty() && rows.back().begin + rows.back().count == begin) {
      rows.back().count += count;
    } else {
      rows.push_back({.begin = begin, .stride = 1, .count = count});
    }
  }
  return rows;
}

int worker_of_row(schedule_kind kind, const chunking& chunks, std::span<const index_t> batch,
                  std::size_t position, index_t row, int workers) {
  if (kind == schedule_kind::intra_node) {
    return static_cast<int>((row - chunks.begin(batch[position])) % workers);
  }
  const auto size = static_cast<index_t>(batch.size());
  for (int w = 0; w < workers; ++w) {
    if (static_cast<index_t>(position) < part(size, w, workers).end) return w;
  }
  return workers - 1;
}

std::vector<double> predicted_work(const pattern_view& a) {
  const std::vector<index_t> parent = elimination_tree(symmetrized(a, diagonal::drop));
  std::vector<double> work(static_cast<std::size_t>(a.n_rows));
  for (index_t i = 0; i < a.n_rows; ++i) {
    work[static_cast<std::size_t>(i)] = static_cast<double>(a.row(i).size());
  }
  // A parent is greater than its children: one ascending sweep sums over all subtrees.
  for (index_t i = 0; i < a.n_rows; ++i) {
    const index_t p = parent[static_cast<std::size_t>(i)];
    if (p >= 0) work[static_cast<std::size_t>(p)] += work[static_cast<std::size_t>(i)];
  }
  return work;
}

std::vector<double> work_of_chunks(const chunking& chunks, std::span<const double> work) {
  std::vector<double> sum(static_cast<std::size_t>(chunks.count()), 0.0);
  for (index_t c = 0; c < chunks.count(); ++c) {
    for (index_t i = chunks.begin(c); i < chunks.end(c); ++i) {
      sum[static_cast<std::size_t>(c)] += work[static_cast<std::size_t>(i)];
    }
  }
  return sum;
}

std::vector<index_t> chunks_by_work(std::span<const double> chunk_work) {
  std::vector<index_t> order(chunk_work.size());
  std::iota(order.begin(), order.end(), index_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](index_t c) { return chunk_work[static_cast<std::size_t>(c)]; });
  return order;
}

std::vector<std::pair<index_t, index_t>> guided_takes(std::span<const double> works,
                                                      index_t largest, int workers_in_all) {
  std::vector<std::pair<index_t, index_t>> takes;
  const double share = 2.0 * std::max(1, workers_in_all);
  double left = std::accumulate(works.begin(), works.end(), 0.0);
  for (std::size_t begin = 0; begin < works.size();) {
    std::size_t end = begin + 1;
    double taken = works[begin];
    while (end < works.size() && end - begin < static_cast<std::size_t>(largest) &&
           taken + works[end] <= left / share) {
      taken += works[end++];
    }
    takes.emplace_back(static_cast<index_t>(begin), static_cast<index_t>(end));
    left -= taken;
    begin = end;
  }
  return takes;
}

}  // namespace gsofa::maxid
