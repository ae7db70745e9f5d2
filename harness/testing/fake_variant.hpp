#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/prepared.hpp"
#include "common/variant.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/supernodes.hpp"
#include "reference/verify_result.hpp"

namespace gsofa::testing {

/// The right result for `a`, with everything in it.
inline result right_result(const pattern_view& a, index_t chunk_size = 128) {
  const auto t = reference::make_truth(reference::eliminate_boolean(a));
  result r;
  r.nnz_l = t.nnz_l;
  r.nnz_u = t.nnz_u;
  r.l_row_counts = t.l_row_counts;
  r.u_row_counts = t.u_row_counts;
  r.row_digests = t.row_digests;
  r.digest = t.digest;
  r.l = t.l;
  r.u = t.u;
  r.supernode_starts = reference::t3_supernodes(t.l, t.u, chunk_size);
  return r;
}

/// A variant for tests that computes by elimination and then lets `tamper` change the result;
/// `during_run` is called inside run().
class fake_variant : public variant {
 public:
  fake_variant(std::function<void(run_context&)> during_run, std::function<void(result&)> tamper)
      : during_run_(std::move(during_run)), tamper_(std::move(tamper)) {}
  void prepare(const pattern_view& a, const run_settings& settings, run_context&) override {
    a_ = a;
    chunk_size_ = settings.chunk_size;
  }
  void run(run_context& context) override {
    if (during_run_) during_run_(context);
  }
  result collect(want_set) override {
    result r = right_result(a_, chunk_size_);
    if (tamper_) tamper_(r);
    return r;
  }

 private:
  std::function<void(run_context&)> during_run_;
  std::function<void(result&)> tamper_;
  pattern_view a_;
  index_t chunk_size_ = 0;
};

inline variant_info fake_info(std::function<void(run_context&)> during_run = {},
                              std::function<void(result&)> tamper = {}) {
  variant_info info;
  info.name = "fake";
  info.device = "cpu";
  info.create = [=] { return std::make_unique<fake_variant>(during_run, tamper); };
  return info;
}

/// A pattern as it is, without any preprocessing.
inline prepared_pattern as_it_is(pattern a) {
  std::vector<index_t> order;
  for (index_t k = 0; k < a.n_rows; ++k) order.push_back(k);
  provenance origin;
  origin.name = "test";
  origin.source = "test";
  origin.match = "none";
  origin.order = "natural";
  origin.nnz_input = a.nnz();
  return {std::move(a), order, order, origin};
}

}  // namespace gsofa::testing
