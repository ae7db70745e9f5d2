#pragma once

// One GPU of a process that runs mpi_maxid.
//
// Encoding. Worker k of a process has, on its GPU: fill stamps of the sources of its last find(),
// slot by slot in ascending order of rows; l_counts and u_counts by row. Other GPUs of the process
// read fill and u_counts, nothing else. Two orderings make that safe: the host thread of a worker
// returns from find() only when its GPU is done, and the driver has a barrier of the node between
// find() and the supernode detection of interleaved chunks, and another before the next find().
//
// A worker searches a chunk with more than #C rows for it in parts; the rows then go to host memory
// after each part, and the host detects the supernodes.

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "variants/device/batch_rows.hpp"
#include "variants/maxid/distributed/engine.hpp"
#include "variants/maxid/distributed/sharing.hpp"
#include "variants/maxid/maxid_search.hpp"

namespace gsofa::maxid {

inline constexpr int max_workers = 16;
inline constexpr offset_t most_managed_bytes = offset_t{2}
                                               << 30;  // of a process, far below any card

/// The rows of a search on a list of sources.
struct listed_rows {
  const std::uint32_t* fill;
  const index_t* list;
  index_t n;
  index_t sources;

  GSOFA_DEVICE index_t source(index_t slot) const { return list[slot]; }
  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    return fill[static_cast<std::size_t>(slot) * static_cast<std::size_t>(n) +
                static_cast<std::size_t>(v)] == static_cast<std::uint32_t>(list[slot]) + 1;
  }
};

/// The arrays of each GPU of a process that the other GPUs read.
struct shared_rows {
  const std::uint32_t* fill[max_workers];
  const index_t* u_counts[max_workers];
};

/// Part of a chunk, the rows begin .. begin + sources - 1, for one block. Row begin + k is slot
/// slot_begin[w] + k / stride of worker w = first + k mod stride.
struct chunk_piece {
  index_t begin;
  index_t sources;
  unsigned number;  // of the piece in its chunk
  offset_t out;     // of row begin in the array of starts
  int first;
  int stride;
  index_t slot_begin[max_workers];
};

struct chunk_rows {
  const shared_rows* shared;
  const chunk_piece* where;
  index_t n;
  index_t begin;
  index_t sources;

  GSOFA_DEVICE bool has(index_t k, index_t v) const {
    const int w = where->first + static_cast<int>(k) % where->stride;
    const auto slot = static_cast<std::size_t>(where->slot_begin[w] + k / where->stride);
    return shared->fill[w][slot * static_cast<std::size_t>(n) + static_cast<std::size_t>(v)] ==
           static_cast<std::uint32_t>(begin + k) + 1;
  }
};

struct chunk_counts {
  const chunk_rows& rows;
  GSOFA_DEVICE index_t operator[](index_t s) const {
    const chunk_piece& p = *rows.where;
    return rows.shared->u_counts[p.first + static_cast<int>(s - p.begin) % p.stride][s];
  }
};

struct chunk_starts {
  unsigned char* starts;
  offset_t shift;
  GSOFA_DEVICE unsigned char& operator[](index_t s) const { return starts[s + shift]; }
};

/// Finds the supernodes of many chunks, a block for each piece.
GSOFA_KERNEL void chunk_supernodes_kernel(const shared_rows* shared, const chunk_piece* pieces,
                                          index_t n, index_t chunk, unsigned piece, index_t* carry,
                                          unsigned char* starts) {
  const chunk_piece* const p = pieces + simt::block_index();
  const chunk_rows rows{shared, p, n, p->begin, p->sources};
  detect_supernodes(rows, chunk_counts{rows}, chunk, piece, p->number, carry, carry + 1,
                    chunk_starts{starts, p->out - p->begin});
}

/// Packs the results of each slot that the host wants into contiguous arrays.
GSOFA_KERNEL void pack_kernel(const index_t* list, index_t count, const std::uint32_t* l_counts,
                              const std::uint32_t* u_counts, const std::uint64_t* digests,
                              const std::uint64_t* edges, std::uint32_t* packed_counts,
                              std::uint64_t* packed_words) {
  for (auto k =
           static_cast<index_t>(simt::block_index() * simt::block_size() + simt::thread_index());
       k < count; k += static_cast<index_t>(simt::grid_size() * simt::block_size())) {
    const index_t i = list[k];
    packed_counts[k] = l_counts[i];
    packed_counts[count + k] = u_counts[i];
    if (digests != nullptr) packed_words[k] = digests[i];
    if (edges != nullptr) packed_words[count + k] = edges[i];
  }
}

/// Fill stamps of all workers in one array.
struct common_fill_memory {
  managed_memory memory;
  offset_t words = 0;  // of a worker
};

/// One GPU, driven by one host thread.
class gpu_worker final : public maxid::row_engine {
 public:
  explicit gpu_worker(int device) : device_(device) {}
  ~gpu_worker() override { switch_device(device_); }  // memory goes back to its own device

  void prepare(const pattern_view& a, const run_settings& settings, sharing_kind sharing,
               offset_t limit, index_t most_sources, common_fill_memory* common_fill, int position,
               const std::vector<int>& devices);
  void begin_run();

  void find(std::span<const maxid::row_set> rows, const maxid::row_results& out,
            const run_context& context) override;
  void deliver(detail::row_store& store, int thread) override;
  [[nodiscard]] bool has_l(index_t s, index_t r) const override;
  void release() override {
    sets_.clear();
    kept_.clear();
  }

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] index_t concurrent_sources() const { return search_->concurrent_sources(); }
  [[nodiscard]] const maxid_search& search() const { return *search_; }
  [[nodiscard]] const memory_budget& budget() const { return budget_; }
  [[nodiscard]] std::int64_t budget_used_percent() const {
    return 100 * (budget_.peak() - matrix_bytes_) / (budget_.limit() - matrix_bytes_);
  }
  [[nodiscard]] const std::uint32_t* fill() const { return search_->fill(); }
  [[nodiscard]] const index_t* u_counts() const { return u_counts_; }
  /// Whether the rows of the last find() are on the GPU, not in host memory.
  [[nodiscard]] bool resident() const { return kept_.empty(); }
  [[nodiscard]] index_t slot_of(index_t row) const;
  /// Marks the first rows of the supernodes of whole chunks, cut into pieces of `piece` rows, in
  /// `starts` (host, by row).
  void find_supernodes(const shared_rows& shared, const std::vector<chunk_piece>& pieces,
                       unsigned piece, index_t chunk_size, std::span<std::uint8_t> starts);

 private:
  struct kept_row {
    index_t row;
    std::vector<index_t> entries;
  };
  void search_part(std::size_t first, std::size_t count, const maxid::row_results& out,
                   run_context& context);
  template <class Take>
  void fetch_rows(std::size_t first, std::size_t count, const Take& take);

  int device_;
  index_t n_ = 0;
  want_set wants_;
  offset_t matrix_bytes_ = 0;  // the budget is for all but the matrix
  memory_budget budget_;
  device_matrix matrix_;
  device_array<std::uint32_t> l_counts_, own_u_counts_, own_fill_, packed_counts_;
  device_array<std::uint64_t> digests_, packed_words_;
  device_array<index_t> device_list_, entries_, carry_;
  device_array<offset_t> offsets_;
  device_array<unsigned char> starts_;
  device_array<shared_rows> shared_;
  device_array<chunk_piece> pieces_;
  std::vector<unsigned char> starts_host_;
  managed_memory managed_fill_, managed_counts_;
  index_t* u_counts_ = nullptr;
  offset_t row_entries_ = 0;
  std::unique_ptr<maxid_search> search_ = maxid_search::create(maxid_config{});

  std::vector<index_t> list_;  // rows of the last find(), ascending
  std::vector<maxid::row_set> sets_;
  std::vector<index_t> set_slots_;  // slot of the first row of each set
  std::vector<kept_row> kept_;
  std::span<index_t> l_host_, u_host_;
  pinned_vector<std::uint32_t> counts_host_;
  pinned_vector<std::uint64_t> words_host_;
};

inline void gpu_worker::prepare(const pattern_view& a, const run_settings& settings,
                                sharing_kind sharing, offset_t limit, index_t most_sources,
                                common_fill_memory* common_fill, int position,
                                const std::vector<int>& devices) {
  use_device(device_);
  n_ = a.n_rows;
  wants_ = settings.wants;
  budget_.set_limit(std::numeric_limits<offset_t>::max());
  matrix_.upload(a, budget_);
  if (limit <= 0) {
    // Workers on one device share its free memory.
    const auto mates = std::ranges::count(devices, device_);
    limit = current_limits().free_bytes / 4 * 3 / mates;
  }
  matrix_bytes_ = budget_.used();
  budget_.set_limit(limit + matrix_bytes_);
  l_counts_ = {budget_, "counts", n_};
  if (sharing == sharing_kind::peer) {
    own_u_counts_ = {budget_, "counts", n_};
    u_counts_ = reinterpret_cast<index_t*>(own_u_counts_.data());
  } else {
    budget_.take("counts", 4 * offset_t{n_});
    managed_counts_ = managed_memory(4 * offset_t{n_});
    u_counts_ = static_cast<index_t*>(managed_counts_.data());
    if (is_advised(sharing)) {
      advise(u_counts_, 4 * offset_t{n_}, device_, devices);
    }
  }
  if (wants_.has(want::digest)) digests_ = {budget_, "digests", n_};
  if (wants_.has(want::supernodes)) {
    starts_ = {budget_, "supernodes", n_};
    carry_ = {budget_, "supernodes", 2};
    shared_ = {budget_, "supernodes", 1};
    // A launch takes all pieces, unless chunks are tiny.
    const index_t rows =
        settings.chunk_size == 0 ? index_t{1024} : std::min(settings.chunk_size, index_t{1024});
    pieces_ = {budget_, "supernodes", std::min<offset_t>(n_ / rows + 2, 1 << 16)};
  }
  // One row always fits; more make fewer copies.
  row_entries_ = std::max<offset_t>(n_, std::min<offset_t>(offset_t{1} << 22, offset_t{n_} * 64));
  entries_ = {budget_, "row_buffer", row_entries_};

  fill_memory own_fill;
  if (sharing != sharing_kind::peer) {
    const offset_t row = 4 * offset_t{n_};
    const offset_t fits = most_managed_bytes / static_cast<offset_t>(devices.size()) / row;
    if (fits < 1) {
      throw budget_error("managed memory of " + std::to_string(most_managed_bytes) +
                         " bytes holds no row of order " + std::to_string(n_) + " for each GPU");
    }
    if (most_sources == 0 || fits < most_sources) most_sources = static_cast<index_t>(fits);
    own_fill = [&, this](offset_t words) {
      budget_.take("fill", 4 * words);
      std::uint32_t* mine = nullptr;
      if (shares_fill(sharing)) {
        // The first worker allocates the memory of all workers, since no worker has more sources. A
        // boundary between two workers may lie inside a page.
        if (common_fill->memory.data() == nullptr) {
          common_fill->words = words;
          common_fill->memory = managed_memory(4 * words * static_cast<offset_t>(devices.size()));
        }
        mine =
            static_cast<std::uint32_t*>(common_fill->memory.data()) + position * common_fill->words;
      } else {
        managed_fill_ = managed_memory(4 * words);
        mine = static_cast<std::uint32_t*>(managed_fill_.data());
      }
      if (is_advised(sharing)) advise(mine, 4 * words, device_, devices);
      return mine;
    };
  }
  // In addition to the search, for each source: its number, two counts, two words and an offset.
  search_->prepare(a, matrix_, settings.options, budget_,
                   {.sources = most_sources, .source_bytes = 4 + 8 + 16 + 8, .own_fill = own_fill});
  const offset_t c = search_->concurrent_sources();
  device_list_ = {budget_, "row_buffer", c};
  offsets_ = {budget_, "row_buffer", c};
  packed_counts_ = {budget_, "row_buffer", 2 * c};
  packed_words_ = {budget_, "row_buffer", 2 * c};
  counts_host_.resize(static_cast<std::size_t>(2 * c));
  words_host_.resize(static_cast<std::size_t>(2 * c));
  synchronize();
}

inline void gpu_worker::begin_run() {
  use_device(device_);
  search_->start();
  fill_bytes(l_counts_.data(), 0, n_);
  fill_bytes(u_counts_, 0, n_);
  sets_.clear();
  kept_.clear();
}

inline void gpu_worker::find(std::span<const maxid::row_set> rows, const maxid::row_results& out,
                             const run_context& context) {
  use_device(device_);
  // The driver's clock belongs to another thread.
  run_context own = context;
  own.phases.start(phase_id::traverse);
  sets_.assign(rows.begin(), rows.end());
  set_slots_.clear();
  list_.clear();
  kept_.clear();
  l_host_ = out.l_counts;
  u_host_ = out.u_counts;
  for (const auto& set : rows) {
    set_slots_.push_back(static_cast<index_t>(list_.size()));
    for (index_t k = 0; k < set.count; ++k) list_.push_back(set.row(k));
  }
  const auto most = static_cast<std::size_t>(search_->concurrent_sources());
  if (list_.size() <= most) {
    search_part(0, list_.size(), out, own);
    return;
  }
  const bool keep = wants_.has(want::supernodes) || wants_.has(want::pattern);
  for (std::size_t first = 0; first < list_.size(); first += most) {
    const std::size_t count = std::min(most, list_.size() - first);
    search_part(first, count, out, own);
    if (!keep) continue;
    fetch_rows(first, count,
               [&](index_t i, std::span<const index_t> lower, std::span<const index_t> upper) {
                 kept_row r{.row = i, .entries = {lower.begin(), lower.end()}};
                 r.entries.insert(r.entries.end(), upper.begin(), upper.end());
                 kept_.push_back(std::move(r));
               });
  }
}

inline void gpu_worker::search_part(std::size_t first, std::size_t count,
                                    const maxid::row_results& out, run_context& context) {
  const auto sources = static_cast<index_t>(count);
  const std::span<const index_t> part(list_.data() + first, count);
  const bool consecutive = part.back() - part.front() == sources - 1;
  copy_to_device(device_list_.data(), part.data(), sources);
  search_->run({.begin = part.front(),
                .count = sources,
                .list = consecutive ? std::span<const index_t>{} : part},
               l_counts_.data(), reinterpret_cast<std::uint32_t*>(u_counts_), context);
  const listed_rows rows{search_->fill(), device_list_.data(), n_, sources};
  if (!out.digests.empty()) {
    launch(digest_kernel<listed_rows>, std::min(sources, 1 << 16), 256, 256 / 32 * 8, rows,
           digests_.data());
  }
  const std::uint64_t* const edges = out.edges.empty() ? nullptr : search_->source_edges();
  launch(pack_kernel, std::min(sources / 256 + 1, 1024), 256, 0,
         static_cast<const index_t*>(device_list_.data()), sources,
         static_cast<const std::uint32_t*>(l_counts_.data()),
         reinterpret_cast<const std::uint32_t*>(u_counts_),
         out.digests.empty() ? nullptr : static_cast<const std::uint64_t*>(digests_.data()), edges,
         packed_counts_.data(), packed_words_.data());
  copy_to_host(counts_host_.data(), packed_counts_.data(), 2 * offset_t{sources});
  if (!out.digests.empty() || edges != nullptr) {
    copy_to_host(words_host_.data(), packed_words_.data(), 2 * offset_t{sources});
  }
  for (std::size_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(part[k]);
    out.l_counts[i] = static_cast<index_t>(counts_host_[k]);
    out.u_counts[i] = static_cast<index_t>(counts_host_[count + k]);
    if (!out.digests.empty()) out.digests[i] = words_host_[k];
    if (edges != nullptr) out.edges[i] = static_cast<double>(words_host_[count + k]);
  }
}

// Calls take(row, lower, upper) for slots first .. first + count - 1 of the last find(), which are
// slots 0 .. count - 1 of the last search.
template <class Take>
inline void gpu_worker::fetch_rows(std::size_t first, std::size_t count, const Take& take) {
  const listed_rows rows{search_->fill(), device_list_.data(), n_, static_cast<index_t>(count)};
  std::vector<offset_t> offsets;
  std::vector<index_t> buffer;
  auto lower_size = [&](std::size_t k) { return l_host_[static_cast<std::size_t>(list_[k])]; };
  auto size = [&](std::size_t k) {
    return lower_size(k) + u_host_[static_cast<std::size_t>(list_[k])];
  };
  for (std::size_t slot = 0; slot < count;) {
    offsets.clear();
    offset_t total = 0;
    std::size_t last = slot;
    while (last < count && total + size(first + last) <= row_entries_) {
      offsets.push_back(total);
      total += size(first + last);
      ++last;
    }
    const auto part = static_cast<index_t>(last - slot);
    copy_to_device(offsets_.data(), offsets.data(), part);
    launch(rows_kernel<listed_rows>, std::min(part, 1 << 16), 256, 256 / 32 * 4, rows,
           static_cast<index_t>(slot), part, static_cast<const offset_t*>(offsets_.data()),
           entries_.data());
    buffer.resize(static_cast<std::size_t>(total));
    copy_to_host(buffer.data(), entries_.data(), total);
    for (std::size_t k = slot; k < last; ++k) {
      const std::span<const index_t> row(buffer.data() + offsets[k - slot],
                                         static_cast<std::size_t>(size(first + k)));
      const auto lower = static_cast<std::size_t>(lower_size(first + k));
      take(list_[first + k], row.first(lower), row.subspan(lower));
    }
    slot = last;
  }
}

inline void gpu_worker::deliver(detail::row_store& store, int thread) {
  use_device(device_);
  if (kept_.empty()) {
    fetch_rows(0, list_.size(),
               [&](index_t i, std::span<const index_t> lower, std::span<const index_t> upper) {
                 store.add(thread, i, lower, upper);
               });
    return;
  }
  for (const auto& r : kept_) {
    const auto lower = static_cast<std::size_t>(l_host_[static_cast<std::size_t>(r.row)]);
    const std::span<const index_t> all(r.entries);
    store.add(thread, r.row, all.first(lower), all.subspan(lower));
  }
}

inline index_t gpu_worker::slot_of(index_t row) const {
  const auto after =
      std::ranges::upper_bound(sets_, row, {}, [](const maxid::row_set& s) { return s.begin; });
  const auto at = static_cast<std::size_t>(after - sets_.begin() - 1);
  return set_slots_[at] + (row - sets_[at].begin) / sets_[at].stride;
}

inline bool gpu_worker::has_l(index_t s, index_t r) const {
  if (!kept_.empty()) {
    const auto row = std::ranges::lower_bound(kept_, s, {}, &kept_row::row);
    return std::ranges::binary_search(row->entries, r);
  }
  use_device(device_);
  std::uint32_t stamp = 0;
  copy_to_host(&stamp, search_->fill() + offset_t{slot_of(s)} * n_ + r, 1);
  return stamp == static_cast<std::uint32_t>(s) + 1;
}

inline void gpu_worker::find_supernodes(const shared_rows& shared,
                                        const std::vector<chunk_piece>& pieces, unsigned piece,
                                        index_t chunk_size, std::span<std::uint8_t> starts) {
  use_device(device_);
  copy_to_device(shared_.data(), &shared, 1);
  const offset_t rows = pieces.back().out + pieces.back().sources;
  fill_bytes(starts_.data(), 0, rows);
  const auto all = static_cast<offset_t>(pieces.size());
  for (offset_t first = 0; first < all; first += pieces_.size()) {
    const offset_t count = std::min(all - first, pieces_.size());
    copy_to_device(pieces_.data(), pieces.data() + first, count);
    launch(chunk_supernodes_kernel, static_cast<int>(count), 128, supernode_shared_bytes(piece),
           static_cast<const shared_rows*>(shared_.data()),
           static_cast<const chunk_piece*>(pieces_.data()), n_, chunk_size, piece, carry_.data(),
           starts_.data());
  }
  starts_host_.resize(static_cast<std::size_t>(rows));
  copy_to_host(starts_host_.data(), starts_.data(), rows);
  for (const chunk_piece& p : pieces) {
    if (p.number == 0) std::copy_n(starts_host_.data() + p.out, p.sources, &starts[p.begin]);
  }
}

}  // namespace gsofa::maxid
