#pragma once

#include <memory>
#include <vector>

#include "variants/maxid/distributed/engine.hpp"
#include "variants/maxid/maxid.hpp"

namespace gsofa::maxid {

/// The paper's relaxed algorithm on one host thread per worker, in place of the GPUs of a node.
/// Every worker has its own maxid_engine (4|V|#C bytes of fill and at most as many of maxId) and
/// keeps the rows of its last find(), L part first, if `keep_entries`.
class maxid_cpu_engine final : public node_engine {
 public:
  /// `setup.concurrent` is the #C of each worker.
  maxid_cpu_engine(const pattern_view& a, const maxid_settings& setup, int workers,
                   bool keep_entries);
  ~maxid_cpu_engine() override;

  [[nodiscard]] int workers() const override;
  [[nodiscard]] index_t concurrent_sources() const override { return concurrent_; }
  [[nodiscard]] row_engine& worker(int k) override;
  void begin_run(run_context& context) override;

 private:
  class thread_engine;
  index_t concurrent_;
  std::vector<std::unique_ptr<thread_engine>> workers_;
};

/// #C for a worker: `wanted`, or if that is 0 the number of sources for which the fill arrays of
/// all `workers` take 128 MB, from 16 to 1024; at most n.
index_t concurrent_sources_for(index_t n, int workers, std::int64_t wanted);

}  // namespace gsofa::maxid
