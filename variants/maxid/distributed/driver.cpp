#include "variants/maxid/distributed/driver.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <optional>

#include "common/parallel.hpp"
#include "common/rank_errors.hpp"
#include "common/shared_counter.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::maxid {

std::vector<option_spec> distribution_options() {
  return {{.name = "schedule",
           .default_value = std::string("dynamic"),
           .help = "how rows are assigned to nodes and workers (paper Section 5; dynamic is ours)",
           .choices = schedule_names()}};
}

struct distributed_driver::state {
  state(const pattern_view& matrix, const run_settings& s, node_engine& e, distribution_fault f)
      : a(matrix),
        settings(s),
        engine(e),
        fault(f),
        kind(parse_schedule(s.options.choice("schedule"))),
        chunks(matrix.n_rows, s.chunk_size),
        counter(j),
        finished(static_cast<std::size_t>(e.workers())) {}

  [[nodiscard]] bool wants(want w) const { return settings.wants.has(w); }
  // Whether the rows of a chunk are interleaved over the workers: only under this schedule do
  // workers wait for each other.
  [[nodiscard]] bool interleaved() const { return kind == schedule_kind::intra_node; }
  [[nodiscard]] std::span<const index_t> batch(std::size_t at) const {
    return std::span<const index_t>(mine).subspan(
        at, std::min(static_cast<std::size_t>(batch_chunks), mine.size() - at));
  }

  void plan(run_context& context);
  void clear(run_context& context);
  void work(int worker, run_context& context);
  void work_dynamically(int worker, run_context& context);
  void gather(run_context& context);

  mpi_context& j = mpi_context::world();
  pattern_view a;
  run_settings settings;
  node_engine& engine;
  distribution_fault fault;
  schedule_kind kind;
  chunking chunks;
  concurrency shape;
  index_t batch_chunks = 1;  // chunks that this node searches at once under a static schedule

  // These arrays have n entries; the rows of this rank are filled.
  std::vector<index_t> l_counts, u_counts;
  std::vector<std::uint64_t> digests;
  std::vector<double> edges, predicted;
  std::vector<std::uint8_t> starts;
  row_results rows;
  detail::row_store entries;

  std::vector<index_t> mine;                       // chunks of this rank, static schedules
  std::vector<index_t> order;                      // all chunks, dynamic schedule
  std::vector<std::pair<index_t, index_t>> takes;  // ranges of `order`
  shared_counter counter;                          // the next take; the flag: stop
  std::optional<std::barrier<>> node_barrier;      // of the workers of this rank
  std::atomic<bool> stop{false};                   // a worker of this rank has thrown
  std::vector<std::vector<index_t>> finished;      // chunks, by worker

  result total;  // on rank 0
};

distributed_driver::distributed_driver(const pattern_view& a, const run_settings& settings,
                                       node_engine& engine, run_context& context,
                                       distribution_fault fault)
    : state_(std::make_unique<state>(a, settings, engine, fault)) {
  state_->plan(context);
  const auto n = offset_t{a.n_rows};
  context.predicted_bytes["row_results"] = n * (8 + (settings.wants.has(want::digest) ? 8 : 0) +
                                                (settings.wants.has(want::supernodes) ? 1 : 0));
}

distributed_driver::~distributed_driver() = default;

void distributed_driver::state::plan(run_context& context) {
  const int workers = engine.workers();
  const index_t sources = engine.concurrent_sources();
  shape = derive_concurrency(chunks.size(), sources, workers);
  // A batch has whole chunks: as many for each worker as it can search at once, at least one.
  const index_t whole = std::max<index_t>(1, sources / chunks.size());
  batch_chunks = interleaved()
                     ? shape.chunks_per_node
                     : narrow<index_t>(std::min<offset_t>(offset_t{whole} * workers, max_index),
                                       "chunks of a batch");
  if (kind == schedule_kind::dynamic) {
    const double begin = j.wtime();
    predicted = predicted_work(a);
    const auto chunk_work = work_of_chunks(chunks, predicted);
    order = chunks_by_work(chunk_work);
    context.derived["prediction_us"] = static_cast<std::int64_t>((j.wtime() - begin) * 1e6);
    const auto all_workers = static_cast<int>(j.sum(std::int64_t{workers}));
    std::vector<double> works;
    for (const index_t c : order) works.push_back(chunk_work[static_cast<std::size_t>(c)]);
    takes = guided_takes(works, static_cast<index_t>(j.min(std::int64_t{whole})), all_workers);
    context.derived["takes"] = static_cast<std::int64_t>(takes.size());
  } else {
    mine = chunks_of_rank(kind, chunks.count(), j.rank(), j.ranks());
  }
  context.derived["chunk_size"] = shape.chunk_size;
  context.derived["chunks"] = chunks.count();
  context.derived["concurrent_chunks_per_node"] = shape.chunks_per_node;
  context.derived["concurrent_sources"] = shape.concurrent_sources;
  context.derived["workers_per_node"] = shape.workers;
  context.layout =
      "chunk size x concurrent chunks per node = #C x workers per node: " + shape.equation() +
      "; " + std::to_string(chunks.count()) + " chunks on " + std::to_string(j.ranks()) +
      (j.ranks() == 1 ? " rank" : " ranks");
}

void distributed_driver::state::clear(run_context& context) {
  const phase timed(context, phase_id::init);
  const auto n = static_cast<std::size_t>(a.n_rows);
  l_counts.assign(n, 0);
  u_counts.assign(n, 0);
  digests.assign(wants(want::digest) ? n : 0, 0);
  starts.assign(wants(want::supernodes) ? n : 0, 0);
  edges.assign(detail::counting ? n : 0, 0.0);
  rows = {l_counts, u_counts, digests, edges, starts};
  if (wants(want::pattern)) entries.reset(a.n_rows, engine.workers(), true);
  for (auto& f : finished) f.clear();
  stop.store(false);
  node_barrier.emplace(engine.workers());
  total = {};
  engine.begin_run(context);
}

void distributed_driver::run(run_context& context) {
  state& s = *state_;
  std::exception_ptr caught;
  try {
    s.clear(context);
  } catch (...) {
    caught = std::current_exception();
  }
  {
    const phase timed(context, phase_id::comm);
    s.j.sync_errors(caught);
    s.counter.reset();
  }
  try {
    // Worker 0 spends the rest of the time waiting for work or for the other workers.
    const phase timed(context, phase_id::schedule);
    const shared_counter::progress answering(s.counter);
    on_threads(s.engine.workers(), [&](int w) {
      if (s.kind == schedule_kind::dynamic) {
        s.work_dynamically(w, context);
      } else {
        s.work(w, context);
      }
    });
    s.engine.end_run(context);
  } catch (...) {
    caught = std::current_exception();
  }
  const phase timed(context, phase_id::comm);
  s.j.sync_errors(caught);
  s.gather(context);
}

namespace {

// The phases belong to worker 0's thread.
class worker_phase {
 public:
  worker_phase(int worker, run_context& context, phase_id id) {
    if (worker == 0) phase_.emplace(context, id);
  }

 private:
  std::optional<phase> phase_;
};

}  // namespace

// Runs a static schedule. Where workers wait for each other every one of them goes through all
// batches, without work once one has failed.
void distributed_driver::state::work(int worker, run_context& context) {
  const int workers = engine.workers();
  row_engine& mine_engine = engine.worker(worker);
  detail::first_exception failure;
  auto guarded = [&](auto&& action) {
    if (stop.load(std::memory_order_relaxed)) return;
    failure.guard(action);
    if (failure.any()) {
      stop.store(true, std::memory_order_relaxed);
      counter.raise();
    }
  };
  for (std::size_t at = 0; at < mine.size(); at += static_cast<std::size_t>(batch_chunks)) {
    if (!interleaved() && stop.load(std::memory_order_relaxed)) break;
    auto now = batch(at);
    // Planted fault: the remainder of the division among the workers is lost.
    if (fault == distribution_fault::lost_chunk) {
      now = now.first(now.size() - now.size() % static_cast<std::size_t>(workers));
    }
    guarded([&] {
      if (worker == 0 && counter.raised()) stop.store(true, std::memory_order_relaxed);
    });
    const auto sets = rows_of_worker(kind, chunks, now, worker, workers);
    guarded([&] {
      const worker_phase timed(worker, context, phase_id::traverse);
      context.check_deadline(static_cast<std::int64_t>(at), std::ssize(mine));
      if (!sets.empty()) mine_engine.find(sets, rows, context);
    });
    if (interleaved()) node_barrier->arrive_and_wait();
    std::vector<found_chunk> own;  // chunks whose supernodes this worker finds
    for (std::size_t k = 0; k < now.size(); ++k) {
      const index_t c = now[k];
      const int owner = interleaved()
                            ? static_cast<int>(k % static_cast<std::size_t>(workers))
                            : worker_of_row(kind, chunks, now, k, chunks.begin(c), workers);
      if (owner != worker) continue;
      own.push_back({.begin = chunks.begin(c),
                     .end = chunks.end(c),
                     .owner = owner,
                     .interleaved = interleaved(),
                     .workers = workers});
    }
    if (wants(want::supernodes) && !own.empty()) {
      guarded([&] {
        const worker_phase timed(worker, context, phase_id::supernode);
        engine.find_supernodes(worker, own, rows);
      });
    }
    if (wants(want::pattern) && !sets.empty()) {
      guarded([&] {
        const worker_phase timed(worker, context, phase_id::compact);
        mine_engine.deliver(entries, worker);
      });
    }
    if (interleaved()) node_barrier->arrive_and_wait();
    guarded([&] { mine_engine.release(); });
    guarded([&] {
      auto& done = finished[static_cast<std::size_t>(worker)];
      for (const found_chunk& c : own) done.push_back(c.begin / chunks.size());
    });
  }
  failure.rethrow();
}

// Every worker takes the next range of chunks as soon as it is free.
void distributed_driver::state::work_dynamically(int worker, run_context& context) {
  row_engine& mine_engine = engine.worker(worker);
  std::vector<index_t> now;
  std::vector<found_chunk> own;
  try {
    for (;;) {
      if (stop.load(std::memory_order_relaxed) || counter.raised()) return;
      const std::int64_t take = counter.fetch_add(1);
      if (take >= std::ssize(takes)) return;
      const auto [begin, end] = takes[static_cast<std::size_t>(take)];
      now.assign(order.begin() + begin, order.begin() + end);
      std::ranges::sort(now);
      const auto sets = rows_of_worker(schedule_kind::block, chunks, now, 0, 1);
      {
        const worker_phase timed(worker, context, phase_id::traverse);
        context.check_deadline(take, std::ssize(takes));
        mine_engine.find(sets, rows, context);
      }
      if (wants(want::supernodes)) {
        const worker_phase timed(worker, context, phase_id::supernode);
        own.clear();
        for (const index_t c : now) {
          own.push_back(
              {.begin = chunks.begin(c), .end = chunks.end(c), .owner = worker, .workers = 1});
        }
        engine.find_supernodes(worker, own, rows);
      }
      if (wants(want::pattern)) {
        const worker_phase timed(worker, context, phase_id::compact);
        mine_engine.deliver(entries, worker);
      }
      mine_engine.release();
      auto& done = finished[static_cast<std::size_t>(worker)];
      done.insert(done.end(), now.begin(), now.end());
    }
  } catch (...) {
    stop.store(true, std::memory_order_relaxed);
    counter.raise();
    throw;
  }
}

// Phase comm: rank 0 gets the O(n) arrays of all chunks. Rank 0 adds the contributions to zeroes
// and requires every chunk exactly once, so that neither a lost nor a repeated chunk goes
// unnoticed.
void distributed_driver::state::gather(run_context& context) {
  std::vector<index_t> done;
  for (const auto& f : finished) done.insert(done.end(), f.begin(), f.end());
  if (fault == distribution_fault::repeated_chunk && !done.empty()) done.push_back(done.back());
  auto pack = [&](const auto& all) {
    std::decay_t<decltype(all)> out;
    if (all.empty()) return out;
    for (const index_t c : done) {
      out.insert(out.end(), all.begin() + chunks.begin(c), all.begin() + chunks.end(c));
    }
    return out;
  };
  const auto lists = j.gather(done);
  j.on_root([&] {
    std::vector<int> times(static_cast<std::size_t>(chunks.count()), 0);
    for (const auto& list : lists) {
      for (const index_t c : list) ++times[static_cast<std::size_t>(c)];
    }
    const auto wrong = std::ranges::find_if(times, [](int t) { return t != 1; });
    if (wrong != times.end() && fault == distribution_fault::none) {
      throw error(exit_code::run_failed, "chunk " + std::to_string(wrong - times.begin()) +
                                             " was found " + std::to_string(*wrong) +
                                             " times, not once");
    }
  });

  const auto n = static_cast<std::size_t>(a.n_rows);
  auto collect = [&](const auto& local) {
    const auto parts = j.gather(pack(local));
    std::decay_t<decltype(local)> all;
    if (!j.root() || local.empty()) return all;
    all.assign(n, 0);
    auto add = [&](index_t chunk, auto from) {
      for (index_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i, ++from) {
        auto& to = all[static_cast<std::size_t>(i)];
        to = static_cast<std::decay_t<decltype(to)>>(to + *from);
      }
    };
    for (std::size_t r = 0; r < lists.size(); ++r) {
      auto from = parts[r].begin();
      for (const index_t c : lists[r]) {
        add(c, from);
        from += chunks.end(c) - chunks.begin(c);
      }
    }
    return all;
  };
  total.l_row_counts = collect(l_counts);
  total.u_row_counts = collect(u_counts);
  total.row_digests = collect(digests);
  const auto marks = collect(starts);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i] != 0) total.supernode_starts.push_back(static_cast<index_t>(i));
  }
  for (const index_t c : total.l_row_counts) total.nnz_l += c;
  for (const index_t c : total.u_row_counts) total.nnz_u += c;
  for (const std::uint64_t d : total.row_digests) total.digest += d;

  if constexpr (detail::counting) {
    j.sum_to_root(edges);
    double sum = 0;
    for (const double e : edges) sum += e;
    context.counters.totals["edges_traversed"] = static_cast<std::int64_t>(sum);
    context.counters.series["edges"] = edges;
    context.counters.series["predicted_work"] = predicted.empty() ? predicted_work(a) : predicted;
  }
}

result distributed_driver::collect(want_set wants) {
  const state& s = *state_;
  result out;
  if (wants.has(want::pattern)) {
    out = s.entries.collect(want::pattern);
    if (s.j.ranks() > 1) {
      auto& rows = out.pattern_rows.emplace();
      for (const auto& f : s.finished) {
        for (const index_t c : f) {
          for (index_t i = s.chunks.begin(c); i < s.chunks.end(c); ++i) rows.push_back(i);
        }
      }
      std::ranges::sort(rows);
    }
  }
  out.nnz_l = s.total.nnz_l;
  out.nnz_u = s.total.nnz_u;
  if (wants.has(want::counts)) {
    out.l_row_counts = s.total.l_row_counts;
    out.u_row_counts = s.total.u_row_counts;
  }
  if (wants.has(want::digest)) {
    out.row_digests = s.total.row_digests;
    out.digest = s.total.digest;
  }
  if (wants.has(want::supernodes)) out.supernode_starts = s.total.supernode_starts;
  return out;
}

}  // namespace gsofa::maxid
