// mpi_maxid: the paper's algorithm on all GPUs of all nodes (Section 5).
//
// One process (rank) drives the GPUs of its node, one host thread per GPU. Chunks of chunk_size
// consecutive sources go to nodes and GPUs by one of the paper's three static schedules, or workers
// take them from a shared counter in order of falling predicted work. A chunk stays on one node: if
// its rows are interleaved over the node's GPUs, supernode detection reads the U counts and L(s, r)
// of the other GPUs' rows through managed memory or peer access. Counts, digests and supernodes do
// not depend on the number of ranks, GPUs or batches. Cost: the work of gpu_maxid divided by the
// GPUs; per GPU the memory of gpu_maxid. Search: maxid_search.cu; schedules: distributed/.
//
// Encoding. Worker k of a process has, on its GPU: fill stamps of the sources of its last find(),
// slot by slot in ascending order of rows; l_counts and u_counts by row. Other GPUs of the process
// read only fill and u_counts. Two orderings make that safe: the host thread of a worker returns
// from find() only when its GPU is done, and the driver has a barrier of the node between find()
// and the supernode detection of interleaved chunks, and another before the next find().
//
// A worker searches a chunk with more than #C rows for it in parts; the rows then go to host memory
// after each part, and the host detects the supernodes.

#include "variants/device/gpu_variant.hpp"
#include "variants/maxid/distributed/driver.hpp"
#include "variants/maxid/maxid_search.hpp"

#if defined(GSOFA_GPU)

#include <limits>
#include <optional>

#include "common/mpi_context.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/maxid/distributed/page_faults.hpp"
#include "variants/maxid/distributed/sharing.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

constexpr int max_workers = 16;
constexpr offset_t most_managed_bytes = offset_t{2} << 30;  // of a process, far below any card

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
class gpu_worker final : public detail::row_engine {
 public:
  explicit gpu_worker(int device) : device_(device), search_(maxid_config{}) {}
  ~gpu_worker() override { switch_device(device_); }  // memory goes back to its own device

  void prepare(const pattern_view& a, const run_settings& settings, sharing_kind sharing,
               offset_t limit, index_t most_sources, common_fill_memory* common_fill, int position,
               const std::vector<int>& devices);
  void begin_run();

  void find(std::span<const detail::row_set> rows, const detail::row_results& out,
            const run_context& context) override;
  void deliver(detail::row_store& store, int thread) override;
  [[nodiscard]] bool has_l(index_t s, index_t r) const override;
  void release() override {
    sets_.clear();
    kept_.clear();
  }

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] index_t concurrent_sources() const { return search_.concurrent_sources(); }
  [[nodiscard]] const maxid_search& search() const { return search_; }
  [[nodiscard]] const memory_budget& budget() const { return budget_; }
  [[nodiscard]] std::int64_t budget_used_percent() const {
    return 100 * (budget_.peak() - matrix_bytes_) / (budget_.limit() - matrix_bytes_);
  }
  [[nodiscard]] const std::uint32_t* fill() const { return search_.fill(); }
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
  void search_part(std::size_t first, std::size_t count, const detail::row_results& out,
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
  maxid_search search_;

  std::vector<index_t> list_;  // rows of the last find(), ascending
  std::vector<detail::row_set> sets_;
  std::vector<index_t> set_slots_;  // slot of the first row of each set
  std::vector<kept_row> kept_;
  std::span<index_t> l_host_, u_host_;
  pinned_vector<std::uint32_t> counts_host_;
  pinned_vector<std::uint64_t> words_host_;
};

void gpu_worker::prepare(const pattern_view& a, const run_settings& settings, sharing_kind sharing,
                         offset_t limit, index_t most_sources, common_fill_memory* common_fill,
                         int position, const std::vector<int>& devices) {
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
        // The first worker allocates the memory of all workers, none of which has more sources; a
        // boundary between two may lie inside a page.
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
  // Beside the search, for each source: its number, two counts, two words and an offset.
  search_.prepare(a, matrix_, settings.options, budget_,
                  {.sources = most_sources, .source_bytes = 4 + 8 + 16 + 8, .own_fill = own_fill});
  const offset_t c = search_.concurrent_sources();
  device_list_ = {budget_, "row_buffer", c};
  offsets_ = {budget_, "row_buffer", c};
  packed_counts_ = {budget_, "row_buffer", 2 * c};
  packed_words_ = {budget_, "row_buffer", 2 * c};
  counts_host_.resize(static_cast<std::size_t>(2 * c));
  words_host_.resize(static_cast<std::size_t>(2 * c));
  synchronize();
}

void gpu_worker::begin_run() {
  use_device(device_);
  search_.start();
  fill_bytes(l_counts_.data(), 0, n_);
  fill_bytes(u_counts_, 0, n_);
  sets_.clear();
  kept_.clear();
}

void gpu_worker::find(std::span<const detail::row_set> rows, const detail::row_results& out,
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
  const auto most = static_cast<std::size_t>(search_.concurrent_sources());
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

void gpu_worker::search_part(std::size_t first, std::size_t count, const detail::row_results& out,
                             run_context& context) {
  const auto sources = static_cast<index_t>(count);
  const std::span<const index_t> part(list_.data() + first, count);
  const bool consecutive = part.back() - part.front() == sources - 1;
  copy_to_device(device_list_.data(), part.data(), sources);
  search_.run({.begin = part.front(),
               .count = sources,
               .list = consecutive ? std::span<const index_t>{} : part},
              l_counts_.data(), reinterpret_cast<std::uint32_t*>(u_counts_), context);
  const listed_rows rows{search_.fill(), device_list_.data(), n_, sources};
  if (!out.digests.empty()) {
    launch(digest_kernel<listed_rows>, std::min(sources, 1 << 16), 256, 256 / 32 * 8, rows,
           digests_.data());
  }
  const std::uint64_t* const edges = out.edges.empty() ? nullptr : search_.source_edges();
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
void gpu_worker::fetch_rows(std::size_t first, std::size_t count, const Take& take) {
  const listed_rows rows{search_.fill(), device_list_.data(), n_, static_cast<index_t>(count)};
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

void gpu_worker::deliver(detail::row_store& store, int thread) {
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

index_t gpu_worker::slot_of(index_t row) const {
  const auto after =
      std::ranges::upper_bound(sets_, row, {}, [](const detail::row_set& s) { return s.begin; });
  const auto at = static_cast<std::size_t>(after - sets_.begin() - 1);
  return set_slots_[at] + (row - sets_[at].begin) / sets_[at].stride;
}

bool gpu_worker::has_l(index_t s, index_t r) const {
  if (!kept_.empty()) {
    const auto row = std::ranges::lower_bound(kept_, s, {}, &kept_row::row);
    return std::ranges::binary_search(row->entries, r);
  }
  use_device(device_);
  std::uint32_t stamp = 0;
  copy_to_host(&stamp, search_.fill() + offset_t{slot_of(s)} * n_ + r, 1);
  return stamp == static_cast<std::uint32_t>(s) + 1;
}

void gpu_worker::find_supernodes(const shared_rows& shared, const std::vector<chunk_piece>& pieces,
                                 unsigned piece, index_t chunk_size,
                                 std::span<std::uint8_t> starts) {
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

/// All GPUs of this process.
class gpu_node final : public detail::node_engine {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) {
    mpi_context& j = mpi_context::world();
    chunk_size_ = settings.chunk_size;
    n_ = a.n_rows;
    const int devices = device_count();
    const int ranks_here = j.ranks_per_node()[static_cast<std::size_t>(j.node())];
    const auto given = static_cast<int>(settings.options.integer("gpus_per_rank"));
    const int count =
        std::clamp(given > 0 ? given : devices / ranks_here, 1, static_cast<int>(max_workers));
    const sharing_kind sharing = parse_sharing(settings.options.choice("sharing"));
    std::vector<int> used;
    for (int k = 0; k < count; ++k) used.push_back((j.node_rank() * count + k) % devices);
    const bool interleaved = settings.options.choice("schedule") == "intra_node";
    if (sharing == sharing_kind::peer && interleaved) share_device_memory(used);
    const offset_t limit = offset_t{settings.options.integer("memory_budget_mb")} << 20;
    index_t least = 0;
    for (int k = 0; k < count; ++k) {
      auto worker = std::make_unique<gpu_worker>(used[static_cast<std::size_t>(k)]);
      worker->prepare(a, settings, sharing, limit, least, &common_fill_, k, used);
      least = worker->concurrent_sources();
      workers_.push_back(std::move(worker));
    }
    concurrent_ = least;
    for (const auto& w : workers_) {
      for (const auto& [name, bytes] : w->search().predicted_bytes()) {
        context.predicted_bytes[name] += bytes;
      }
    }
  }

  [[nodiscard]] int workers() const override { return static_cast<int>(workers_.size()); }
  [[nodiscard]] index_t concurrent_sources() const override { return concurrent_; }
  [[nodiscard]] detail::row_engine& worker(int k) override {
    return *workers_[static_cast<std::size_t>(k)];
  }

  void begin_run(run_context&) override {
    if constexpr (detail::counting) faults_.emplace();
    for (const auto& w : workers_) w->begin_run();
    for (const auto& w : workers_) {
      use_device(w->device());
      synchronize();
    }
  }

  void end_run(run_context& context) override {
    context.device_peak_bytes = 0;
    context.device_bytes.clear();
    memory_use use;
    std::int64_t used_percent = 0;
    for (const auto& w : workers_) {
      use.add(w->search().use());
      used_percent = std::max(used_percent, w->budget_used_percent());
      context.device_peak_bytes += w->budget().peak();
      for (const auto& [name, bytes] : w->budget().by_structure())
        context.device_bytes[name] += bytes;
    }
    use.derive(context);
    context.derived["budget_used_percent"] = used_percent;
    if constexpr (detail::counting) {
      for (const auto& w : workers_) {
        use_device(w->device());
        run_context own;
        w->search().report(own);
        for (const auto& [name, value] : own.counters.totals)
          context.counters.totals[name] += value;
      }
      for (const auto& [name, value] : faults_->stop()) context.counters.totals[name] += value;
      faults_.reset();
    }
  }

  void find_supernodes(int worker, std::span<const detail::found_chunk> chunks,
                       const detail::row_results& rows) override {
    shared_rows shared{};
    index_t largest = 0;
    for (const auto& c : chunks) {
      for (int w = first_worker(c); w < first_worker(c) + stride(c); ++w) {
        const gpu_worker& engine = *workers_[static_cast<std::size_t>(w)];
        if (!engine.resident()) {
          node_engine::find_supernodes(worker, chunks, rows);
          return;
        }
        shared.fill[w] = engine.fill();
        shared.u_counts[w] = engine.u_counts();
      }
      largest = std::max(largest, c.end - c.begin);
    }
    const auto piece = static_cast<unsigned>(std::min<index_t>(largest, 1024));
    std::vector<chunk_piece> pieces;
    offset_t out = 0;
    for (const auto& c : chunks) {
      chunk_piece p{};
      p.begin = c.begin;
      p.sources = c.end - c.begin;
      p.out = out;
      p.first = first_worker(c);
      p.stride = stride(c);
      // A chunk with fewer rows than workers leaves some workers without a row.
      for (int k = 0; k < std::min<int>(p.stride, p.sources); ++k) {
        const gpu_worker& engine = *workers_[static_cast<std::size_t>(p.first + k)];
        p.slot_begin[p.first + k] = engine.slot_of(c.begin + k);
      }
      for (; p.number * piece < static_cast<unsigned>(p.sources); ++p.number) pieces.push_back(p);
      out += p.sources;
    }
    workers_[static_cast<std::size_t>(worker)]->find_supernodes(shared, pieces, piece, chunk_size_,
                                                                rows.starts);
  }

 private:
  static int first_worker(const detail::found_chunk& c) { return c.interleaved ? 0 : c.owner; }
  static int stride(const detail::found_chunk& c) { return c.interleaved ? c.workers : 1; }

  index_t n_ = 0;
  index_t chunk_size_ = 0;
  index_t concurrent_ = 1;
  common_fill_memory common_fill_;
  std::vector<std::unique_ptr<gpu_worker>> workers_;
  std::optional<page_fault_counter> faults_;
};

class distributed_maxid final : public variant {
 public:
  ~distributed_maxid() override {
    const device_scope home;
    driver_.reset();
    engine_.reset();
  }
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    if constexpr (detail::counting) watch_page_faults();
    const device_scope home;
    engine_.emplace();
    mpi_context::world().collective_try([&] { engine_->prepare(a, settings, context); });
    driver_.emplace(a, settings, *engine_, context);
  }
  void run(run_context& context) override {
    const device_scope home;
    driver_->run(context);
  }
  result collect(want_set wants) override { return driver_->collect(wants); }

 private:
  std::optional<gpu_node> engine_;
  std::optional<detail::distributed_driver> driver_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

namespace gsofa::gpu {
namespace {

std::vector<option_spec> distributed_maxid_options() {
  std::vector<option_spec> all = detail::distribution_options();
  all.push_back({.name = "gpus_per_rank",
                 .default_value = std::int64_t{0},
                 .help = "GPUs that a rank drives; 0: those of its node shared out among its ranks",
                 .minimum = 0,
                 .maximum = 16});
  all.push_back({.name = "sharing",
                 .default_value = std::string("peer"),
                 .help = "how GPUs of a rank read each other's rows (paper Section 5)",
                 .choices = {"peer", "managed_advised", "managed", "managed_shared_fill",
                             "managed_shared_fill_unadvised"}});
  for (auto& o : maxid_options()) all.push_back(std::move(o));
  return all;
}

}  // namespace
}  // namespace gsofa::gpu

GSOFA_REGISTER_VARIANT({
    .name = "mpi_maxid",
    .device = "mpi",
    .summary = "the maxId algorithm on all GPUs of all ranks of an MPI job",
    .citation = "paper Section 5 (scheduling, sharing), Sections 4 and 6 (algorithm)",
    .options = gsofa::gpu::distributed_maxid_options(),
    .distributed = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(distributed_maxid),
});
