#pragma once

#include "common/parallel.hpp"
#include "common/variant.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa::detail {

/// Base class of all variants that deliver their result row by row.
class row_variant : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    a_ = a;
    settings_ = settings;
    settings_.threads = useful_threads(settings.threads, a.n_rows);
    context.predicted_bytes["fill"] = offset_t{a.n_rows} * 4 * settings_.threads;
  }
  result collect(want_set wants) override {
    result out = rows_.collect(wants);
    if (wants.has(want::supernodes)) out.supernode_starts = supernodes_;
    return out;
  }

 protected:
  /// Phase `supernode`: the shared post-pass, if supernodes are requested.
  void find_supernodes(run_context& context) {
    if (!settings_.wants.has(want::supernodes)) return;
    const phase timed(context, phase_id::supernode);
    supernodes_ = t3_post_pass(rows_.u_counts(), settings_.chunk_size,
                               [&](index_t s, index_t r) { return rows_.has_l(s, r); });
  }

  pattern_view a_;
  run_settings settings_;
  row_store rows_;
  std::vector<index_t> supernodes_;
};

}  // namespace gsofa::detail
