#include "variants/maxid/distributed/maxid_cpu_engine.hpp"

#include <algorithm>

#include "common/digest.hpp"

namespace gsofa::maxid {

class maxid_cpu_engine::thread_engine final : public row_engine {
 public:
  thread_engine(const pattern_view& a, const maxid_settings& setup, bool keep_entries)
      : maxid_(a, setup, 1), concurrent_(setup.concurrent), keep_(keep_entries) {}

  void begin_run() {
    maxid_.begin_run(own_);
    release();
  }

  void find(std::span<const row_set> rows, const row_results& out,
            const run_context& context) override {
    own_.share_deadline(context);
    release();
    collector into{*this, out};
    batch_.clear();
    for (const row_set& s : rows) {
      for (index_t k = 0; k < s.count; ++k) {
        batch_.push_back(s.row(k));
        if (std::ssize(batch_) == concurrent_) search(into);
      }
    }
    search(into);
  }

  void deliver(detail::row_store& store, int thread) override {
    for (const row& r : rows_) store.add(thread, r.number, lower(r), upper(r));
  }

  [[nodiscard]] bool has_l(index_t s, index_t r) const override {
    const auto at = std::ranges::lower_bound(rows_, s, {}, &row::number);
    const auto l = lower(*at);
    return std::ranges::find(l, r) != l.end();
  }

  void release() override {
    rows_.clear();
    entries_.clear();
  }

 private:
  struct row {
    index_t number = 0;
    std::size_t begin = 0, diagonal = 0, end = 0;  // L part, then U part
  };
  // The receiver of the rows of maxid_engine::find.
  struct collector {
    thread_engine& mine;
    const row_results& out;
    void add(int, index_t i, std::span<const index_t> lower, std::span<const index_t> upper) const {
      const auto at = static_cast<std::size_t>(i);
      out.l_counts[at] = static_cast<index_t>(lower.size());
      out.u_counts[at] = static_cast<index_t>(upper.size());
      if (!out.digests.empty()) out.digests[at] = row_digest(i, lower) + row_digest(i, upper);
      if (mine.keep_) mine.store(i, lower, upper);
    }
  };

  void search(const collector& into) {
    if (batch_.empty()) return;
    maxid_.find(batch_, into, own_);
    if constexpr (detail::counting) {
      const auto edges = maxid_.edges_of_batch();
      for (std::size_t k = 0; k < batch_.size(); ++k) {
        into.out.edges[static_cast<std::size_t>(batch_[k])] = edges[k];
      }
    }
    batch_.clear();
  }

  void store(index_t i, std::span<const index_t> lower, std::span<const index_t> upper) {
    row r{.number = i, .begin = entries_.size()};
    entries_.insert(entries_.end(), lower.begin(), lower.end());
    r.diagonal = entries_.size();
    entries_.insert(entries_.end(), upper.begin(), upper.end());
    r.end = entries_.size();
    rows_.push_back(r);
  }
  [[nodiscard]] std::span<const index_t> lower(const row& r) const {
    return std::span(entries_).subspan(r.begin, r.diagonal - r.begin);
  }
  [[nodiscard]] std::span<const index_t> upper(const row& r) const {
    return std::span(entries_).subspan(r.diagonal, r.end - r.diagonal);
  }

  maxid_engine maxid_;
  index_t concurrent_;
  bool keep_;
  run_context own_;  // phases of this thread; no record has them
  std::vector<index_t> batch_;
  std::vector<row> rows_;  // of the last find(), ascending
  std::vector<index_t> entries_;
};

maxid_cpu_engine::maxid_cpu_engine(const pattern_view& a, const maxid_settings& setup, int workers,
                                   bool keep_entries)
    : concurrent_(setup.concurrent) {
  for (int w = 0; w < workers; ++w) {
    workers_.push_back(std::make_unique<thread_engine>(a, setup, keep_entries));
  }
}
maxid_cpu_engine::~maxid_cpu_engine() = default;

int maxid_cpu_engine::workers() const { return static_cast<int>(workers_.size()); }
row_engine& maxid_cpu_engine::worker(int k) { return *workers_[static_cast<std::size_t>(k)]; }
void maxid_cpu_engine::begin_run(run_context&) {
  for (auto& w : workers_) w->begin_run();
}

index_t concurrent_sources_for(index_t n, int workers, std::int64_t wanted) {
  constexpr std::int64_t default_entries = std::int64_t{1} << 25;
  const std::int64_t chosen =
      wanted > 0 ? wanted
                 : std::clamp<std::int64_t>(default_entries / n / std::max(1, workers), 16, 1024);
  return static_cast<index_t>(std::min<std::int64_t>(chosen, n));
}

}  // namespace gsofa::maxid
