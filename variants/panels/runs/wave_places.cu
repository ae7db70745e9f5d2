// Waves of panels on one device: waves.hpp plans them on the host.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/panels/runs/wave_places.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

bool wave_places::plan(panel_arrays& p, const panel_limits& limits, memory_budget& budget) {
  p.release_positions();
  std::vector<index_t> lengths(at(p.panels));
  std::vector<index_t> parent(at(p.panels));
  copy_to_host(lengths.data(), static_cast<const index_t*>(p.lengths()), p.panels);
  copy_to_host(parent.data(), static_cast<const index_t*>(p.panel_parent.data()), p.panels);
  // Every panel may be assigned its place in one wave.
  const offset_t fresh_bytes = offset_t{p.panels} * (sizeof(index_t) + sizeof(offset_t));
  const offset_t others = fresh_bytes + limits.reserve_of_waves;
  const offset_t room = std::min(limits.positions_at_once(),
                                 (limits.bytes_left(budget) - others) / bytes_per_position);
  p.bytes_missing =
      budget.used() + limits.reserve + others + longest_path(lengths, parent) * bytes_per_position;
  auto waves = plan_waves(lengths, parent, room);
  if (!waves) return false;
  waves_ = std::move(*waves);
  std::size_t most = 0;
  for (const panel_wave& w : waves_) most = std::max(most, w.fresh.size());
  fresh_ = {budget, "waves", static_cast<offset_t>(most)};
  places_ = {budget, "waves", static_cast<offset_t>(most)};
  p.take_positions(room, budget);
  fill_bytes(p.position_begin.data(), 0xff, p.panels);
  return true;
}

void wave_places::release() {
  waves_.clear();
  fresh_ = {};
  places_ = {};
}

panel_range wave_places::begin(index_t k, const matrix_view& a, const panel_arrays& p) {
  if (waves_.empty()) return {0, p.panels};
  const panel_wave& wave = waves_[at(k)];
  const auto count = static_cast<index_t>(wave.fresh.size());
  copy_to_device(fresh_.data(), wave.fresh.data(), count);
  copy_to_device(places_.data(), wave.place.data(), count);
  write_positions(p, fresh_panels{count, fresh_.data(), places_.data()});
  set_masks_of_wave(a, p, wave.panels.begin);
  // Tickets and lists belong to one wave.
  if (k > 0) fill_bytes(p.control(), 0, elimination_control::words);
  return wave.panels;
}

}  // namespace gsofa::panels

#endif
