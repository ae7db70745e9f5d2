#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa::maxid {

/// Rows begin, begin + stride, ... (`count` of them).
struct row_set {
  index_t begin = 0;
  index_t stride = 1;
  index_t count = 0;
  [[nodiscard]] index_t row(index_t k) const { return begin + k * stride; }
  bool operator==(const row_set&) const = default;
};

/// The assignment of rows to workers (paper Section 5). A node is one rank; a worker is one of its
/// GPUs (or host threads).
enum class schedule_kind {
  block,       ///< each node a block of consecutive chunks; whole chunks to a worker (baseline)
  inter_node,  ///< chunk c to node c mod nodes; whole chunks to a worker
  intra_node,  ///< as inter_node; rows of a chunk interleaved over the workers of its node
  dynamic,     ///< workers take chunks by falling predicted work as they become free
};
/// Throws input_error on an unknown name.
schedule_kind parse_schedule(const std::string& name);
/// The names, in the order above.
std::vector<std::string> schedule_names();

/// Chunk c of a matrix of order n: rows c * size .. min(n, (c + 1) * size) - 1. Supernodes never
/// cross a chunk, so that chunk_size 0 (unlimited supernodes) makes one chunk of all rows.
class chunking {
 public:
  chunking(index_t n, index_t chunk_size);
  [[nodiscard]] index_t size() const { return size_; }
  [[nodiscard]] index_t count() const { return count_; }
  [[nodiscard]] index_t begin(index_t chunk) const { return chunk * size_; }
  [[nodiscard]] index_t end(index_t chunk) const {
    return n_ - begin(chunk) < size_ ? n_ : begin(chunk) + size_;
  }

 private:
  index_t n_, size_, count_;
};

/// The paper's equation chunkSize x numConcurrChunksPerNode = #C x numGPUsPerNode. The number of
/// chunks is rounded down, and is at least 1; a GPU then searches fewer (more) than #C sources at
/// once.
struct concurrency {
  index_t chunk_size = 0;
  index_t chunks_per_node = 1;     ///< numConcurrChunksPerNode
  index_t concurrent_sources = 1;  ///< #C, of one worker
  int workers = 1;                 ///< numGPUsPerNode
  /// "128 x 48 = 1024 x 6", with "~" for "=" where the products differ.
  [[nodiscard]] std::string equation() const;
};
concurrency derive_concurrency(index_t chunk_size, index_t concurrent_sources, int workers);

/// Chunks of node `rank` under a static schedule, ascending. Over all ranks each chunk occurs once.
/// Under block the first (chunks mod ranks) ranks have one more than the others.
std::vector<index_t> chunks_of_rank(schedule_kind kind, index_t chunks, int rank, int ranks);

/// The rows of worker `worker` in a batch of chunks of its node, under a static schedule. block and
/// inter_node: consecutive whole chunks of the batch, the first (batch mod workers) workers one
/// more. intra_node: rows worker, worker + workers, ... of each chunk. Over all workers each row of
/// the batch occurs once; the result has no set without rows.
std::vector<row_set> rows_of_worker(schedule_kind kind, const chunking& chunks,
                                    std::span<const index_t> batch, int worker, int workers);

/// The worker to which rows_of_worker() gives row `row` of chunk batch[position].
int worker_of_row(schedule_kind kind, const chunking& chunks, std::span<const index_t> batch,
                  std::size_t position, index_t row, int workers);

/// A prediction of the edges that the search of each source traverses: the sum of the degrees, in
/// A, of the source and of its descendants in the elimination tree of A + A^T. Every vertex that a
/// path from s through vertices < s reaches below s is such a descendant, so that without revisits
/// the search traverses no more; for symmetric patterns it is exact. O(nnz log n) time.
std::vector<double> predicted_work(const pattern_view& a);

/// Sum of `work` over the rows of each chunk.
std::vector<double> work_of_chunks(const chunking& chunks, std::span<const double> work);

/// Numbers of chunks by falling work; ties by number.
std::vector<index_t> chunks_by_work(std::span<const double> chunk_work);

/// Ranges [first, second) of the dynamic order that a worker takes at a time: up to `largest`
/// chunks, of no more than half of an even share of the work that is left, at least one chunk
/// (guided self-scheduling, Polychronopoulos & Kuck 1987, by work instead of by number: the first
/// chunks are so much heavier than the others that an even number of them is no even share).
/// `works` is the work of the chunks in that order. All ranks compute the same ranges, so that one
/// shared counter suffices.
std::vector<std::pair<index_t, index_t>> guided_takes(std::span<const double> works,
                                                      index_t largest, int workers_in_all);

}  // namespace gsofa::maxid
