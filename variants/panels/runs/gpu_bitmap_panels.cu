// gpu_bitmap_panels: symbolic LU by elimination over panels of the elimination tree of A + A^T, on
// one GPU. A panel is a list of positions with two bit masks each. Exact for every input order.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992. ../README.md has the algorithm,
// ../PROOFS.md the proofs and the launches in order; one_gpu.cu composes the stages;
// cpu_bitmap_panels.cpp is the same algorithm on host threads.
//
// Invariant: a panel has at most panel_width consecutive vertices, whose parents outside are one
// vertex q(J), the parent of the last, or none. The masks are as in cpu_bitmap_panels.cpp.
//
// Encoding (panel_view.hpp): the boundary of a panel as column blocks (panel T, mask of its
// vertices in T), 16 bytes each, and as positions, 24 bytes each: two masks, the vertex, its place
// in the parent panel. A vertex takes 92 bytes in addition to its results, and a panel takes 36
// bytes for its next eight ancestors. The result is the masks with the position lists; rows are
// read off on request.
//
// Cost with P positions and W column blocks: O(nnz(A)) for the forest; atomics in O(nnz(A) + W) for
// the lists; about one closure of two words per position and one OR of two words per position and
// update. Memory: 24 P + 16 W bytes; during construction 16 W more, or two to eight times as much
// for the table of column blocks. Waves and searches need less: see ../README.md.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <memory>
#include <optional>

#include "common/mask_pattern.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/device/host_copies.hpp"
#include "variants/panels/runs/one_gpu.hpp"

namespace gsofa::panels {

namespace {

/// The runs of one GPU as a variant: hands over what they have left.
class bitmap_panels final : public variant,
                            public takes_device_rows,
                            public leaves_device_results,
                            public gives_masks,
                            private one_gpu {
 public:
  explicit bitmap_panels(const panel_tuning& tuning) : one_gpu(tuning) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    take(a);
    one_gpu::prepare(settings, context);
  }

  void prepare_device(const device_rows& a, const run_settings& settings,
                      run_context& context) override {
    take(a);
    one_gpu::prepare(settings, context);
  }

  void run(run_context& context) override {
    handed_over_.reset();
    one_gpu::run(context);
  }

  result collect(want_set wants) override {
    return searched_ ? searched_->collect(wants) : rows_.collect(wants);
  }

  supernodal_pattern supernodal(const supernode_rule& rule) override {
    supernodal_pattern out;
    supernodal_into(rule, out);
    return out;
  }

  void supernodal_into(const supernode_rule& rule, supernodal_pattern& out) override {
    if (rows_alone()) {
      out = variant::supernodal(rule);
      return;
    }
    supernodal_to_host(panels_.view(), {panels_.positions, panels_.column_blocks}, rule,
                       settings_.threads, budget_, out);
  }

  bool masks_into(mask_pattern& out) override {
    complete_panels();
    if (rows_alone() || waves_.count() > 1) return false;
    const panel_view p = panels_.view();
    const offset_t positions = panels_.positions;
    static_assert(sizeof(mask_pair) == 2 * sizeof(std::uint64_t));
    host_copies copies(settings_.threads);
    copies.run(static_cast<std::size_t>(positions) * (sizeof(mask_pair) + sizeof(index_t)), [&] {
      copies.add(out.masks, reinterpret_cast<const std::uint64_t*>(p.masks), 2 * positions);
      copies.add(out.vertices, p.columns, positions);
      copies.add(out.begin, p.begin, offset_t{p.panels} + 1);
      copies.add(out.position_begin, p.position_begin, offset_t{p.panels} + 1);
    });
    take_written(out.masks, static_cast<std::size_t>(2 * positions));
    take_written(out.vertices, static_cast<std::size_t>(positions));
    take_written(out.begin, at(p.panels) + 1);
    take_written(out.position_begin, at(p.panels) + 1);
    return true;
  }

  void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) override {
    const caller_memory memory(to);
    if (holds_rows_) {
      const auto copied = [&](const device_rows& a) -> device_rows {
        return {n_, a.nnz, memory.copied(a.row_ptr, offset_t{n_} + 1),
                memory.copied(a.col_idx, a.nnz)};
      };
      l = copied(expansion_.l_there(n_));
      u = copied(expansion_.u_there(n_));
    } else {
      const result& rows = rows_on_host();
      l = memory.uploaded(rows.l);
      u = memory.uploaded(rows.u);
    }
    synchronize();
  }

  device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                 const device_destination& to) override {
    const caller_memory memory(to);
    device_supernodal_pattern left;
    if (rows_alone()) {
      const result& rows = rows_on_host();
      left = memory.uploaded(supernodal_of(rows.l, rows.u, rule));
      synchronize();
      return left;
    }
    const supernodal_arrays s =
        supernodal_of_panels(panels_.view(), panels_.column_blocks, rule, budget_);
    left = {
        .supernodes = s.supernodes,
        .row_count = s.rows.size(),
        .segment_count = s.segments.size(),
        .begin = memory.copied<index_t>(s.begin.data(), offset_t{s.supernodes} + 1),
        .row_begin = memory.copied<offset_t>(s.row_begin.data(), s.row_begin.size()),
        .rows = memory.copied<index_t>(s.rows.data(), s.rows.size()),
        .segment_begin = memory.copied<offset_t>(s.segment_begin.data(), s.segment_begin.size()),
        .segments = memory.copied<index_t>(s.segments.data(), s.segments.size())};
    synchronize();
    return left;
  }

  device_supernodal_pattern expanded_on_device(const supernode_rule& rule,
                                               std::span<const column_range> of,
                                               const device_destination& to,
                                               std::vector<std::uint32_t>& added) override {
    const caller_memory memory(to);
    device_supernodal_pattern left;
    if (rows_alone()) {
      const result& rows = rows_on_host();
      const supernodal_pattern s = supernodal_of(rows.l, rows.u, rule);
      added = added_columns(s, of);
      left = memory.uploaded(gsofa::expand_leaves(s, of));
    } else {
      left =
          expand_leaves(supernodal_of_panels(panels_.view(), panels_.column_blocks, rule, budget_),
                        of, budget_, memory, added);
    }
    synchronize();
    return left;
  }

 private:
  // The rows that are not on the device. collect() hands them over once.
  const result& rows_on_host() {
    if (!handed_over_) handed_over_ = collect(want::pattern);
    return *handed_over_;
  }

  std::optional<result> handed_over_;
};

}  // namespace

std::unique_ptr<variant> make_bitmap_panels(const panel_tuning& tuning) {
  return std::make_unique<bitmap_panels>(tuning);
}

}  // namespace gsofa::panels

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels",
    .device = "gpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"64", "8", "1", "3", "16", "33", "2", "5"}},
                {.name = "blocks_per_cluster",
                 .default_value = std::int64_t{4},
                 .help = "blocks of a cluster, from 2 on where the device has them; 1: blocks "
                         "eliminate all",
                 .minimum = 1,
                 .maximum = 8,
                 .tested = {"4", "1", "3"}},
                {.name = "hand_over",
                 .default_value = std::string("auto"),
                 .help = "workers hand over updates of distant panels to idle workers; auto: once "
                         "the counted work of update rounds exceeds a limit",
                 .choices = {"auto", "on", "off"},
                 .tested = {"auto", "on", "off", "on"}},
                {.name = "counts",
                 .default_value = std::string("tree"),
                 .help = "tree: the elimination tree gives counts and T3 supernodes of a symmetric "
                         "pattern in postorder if nothing else is requested; panels: panels do",
                 .choices = {"tree", "panels"},
                 .tested = {"tree", "panels", "tree"}},
                gsofa::gpu::memory_budget_option()},
    .supernodal = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_MAKE(gsofa::panels::make_bitmap_panels({})),
});
