#include "variants/panels/waves.hpp"

#include <algorithm>

namespace gsofa::panels {

namespace {

// The number of positions of all proper ancestors of each panel.
std::vector<offset_t> positions_above(std::span<const index_t> lengths,
                                      std::span<const index_t> parent) {
  std::vector<offset_t> above(parent.size(), 0);
  for (std::size_t j = parent.size(); j-- > 0;) {
    if (parent[j] >= 0) above[j] = above[at(parent[j])] + lengths[at(parent[j])];
  }
  return above;
}

struct interval {
  offset_t begin, end;
};

class planner {
 public:
  planner(std::span<const index_t> lengths, std::span<const index_t> parent, offset_t room)
      : lengths_(lengths),
        parent_(parent),
        room_(room),
        above_(positions_above(lengths, parent)),
        place_(parent.size(), no_place) {}

  std::optional<std::vector<panel_wave>> plan() {
    std::vector<panel_wave> waves;
    const auto panels = static_cast<index_t>(parent_.size());
    for (index_t begin = 0; begin < panels;) {
      auto wave = next(begin);
      if (!wave) return std::nullopt;
      begin = wave->panels.end;
      waves.push_back(std::move(*wave));
    }
    return waves;
  }

 private:
  static constexpr offset_t no_place = -1;

  // The wave of as many panels from `begin` on as get places. Panels that fit in the free room may
  // find no places in scattered gaps; then the wave takes fewer panels.
  std::optional<panel_wave> next(index_t begin) {
    const std::vector<interval> gaps = free_places(begin);
    for (offset_t most = room_; most > 0;) {
      offset_t needed = 0;
      const index_t end = longest_range(begin, most, needed);
      if (end == begin) return std::nullopt;
      panel_wave wave{{begin, end}, {}, {}};
      if (assign(wave, gaps)) return wave;
      for (const index_t j : wave.fresh) place_[at(j)] = no_place;
      most = needed - std::max<offset_t>(1, room_ / 64);
    }
    return std::nullopt;
  }

  // The end of the longest range from `begin` on that needs at most `most` positions.
  index_t longest_range(index_t begin, offset_t most, offset_t& needed) const {
    index_t end = begin;
    offset_t inside = 0;
    for (index_t j = begin; j < static_cast<index_t>(parent_.size()); ++j) {
      inside += lengths_[at(j)];
      if (inside > most) break;
      if (inside + above_[at(j)] > most) continue;
      end = j + 1;
      needed = inside + above_[at(j)];
    }
    return end;
  }

  // The free places, ascending: those that no ancestor of the panels before `begin` holds.
  [[nodiscard]] std::vector<interval> free_places(index_t begin) const {
    std::vector<interval> held;
    if (begin > 0) {
      for (index_t j = parent_[at(begin - 1)]; j >= 0; j = parent_[at(j)]) {
        held.push_back({place_[at(j)], place_[at(j)] + lengths_[at(j)]});
      }
    }
    std::ranges::sort(held, {}, &interval::begin);
    std::vector<interval> gaps;
    offset_t end = 0;
    for (const interval& h : held) {
      if (h.begin > end) gaps.push_back({end, h.begin});
      end = h.end;
    }
    if (room_ > end) gaps.push_back({end, room_});
    return gaps;
  }

  // Ancestors beyond the range get the last places, from the root down; panels of the range get the
  // first places.
  bool assign(panel_wave& wave, std::vector<interval> gaps) {
    const auto take = [&](index_t j, offset_t place) {
      place_[at(j)] = place;
      wave.fresh.push_back(j);
      wave.place.push_back(place);
    };
    std::vector<index_t> path;
    for (index_t j = parent_[at(wave.panels.end - 1)]; j >= 0 && place_[at(j)] < 0;
         j = parent_[at(j)]) {
      path.push_back(j);
    }
    for (std::size_t k = path.size(); k-- > 0;) {
      const index_t length = lengths_[at(path[k])];
      const auto gap = std::find_if(gaps.rbegin(), gaps.rend(),
                                    [&](const interval& g) { return g.end - g.begin >= length; });
      if (gap == gaps.rend()) return false;
      gap->end -= length;
      take(path[k], gap->end);
    }
    auto gap = gaps.begin();
    for (index_t j = wave.panels.begin; j < wave.panels.end; ++j) {
      if (place_[at(j)] >= 0) continue;
      const index_t length = lengths_[at(j)];
      while (gap != gaps.end() && gap->end - gap->begin < length) ++gap;
      if (gap == gaps.end()) return false;
      take(j, gap->begin);
      gap->begin += length;
    }
    return true;
  }

  std::span<const index_t> lengths_, parent_;
  offset_t room_;
  std::vector<offset_t> above_;
  std::vector<offset_t> place_;  // place of the first position of each panel
};

}  // namespace

std::optional<std::vector<panel_wave>> plan_waves(std::span<const index_t> lengths,
                                                  std::span<const index_t> parent, offset_t room) {
  return planner(lengths, parent, room).plan();
}

offset_t longest_path(std::span<const index_t> lengths, std::span<const index_t> parent) {
  const std::vector<offset_t> above = positions_above(lengths, parent);
  offset_t most = 0;
  for (std::size_t j = 0; j < parent.size(); ++j) most = std::max(most, above[j] + lengths[j]);
  return most;
}

}  // namespace gsofa::panels
