// labels: oracle
// program: emulated
// Boundaries found target by target, on the emulator.
#include <doctest/doctest.h>

#include <map>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "variants/device/emulated_cases.hpp"
#include "variants/panels/boundaries.hpp"
#include "variants/panels/stages_device.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

using block_map = std::map<std::pair<index_t, index_t>, panels::mask_t>;  // by panel and target

// Parents of panels in postorder. Few of the subtrees before a panel become its children where
// `most_children` is 1, which makes long paths.
std::vector<index_t> random_tree(index_t panels, std::uint64_t most_children,
                                 random_source& random) {
  std::vector<index_t> parent(static_cast<std::size_t>(panels), -1);
  std::vector<index_t> roots;
  for (index_t j = 0; j < panels; ++j) {
    for (std::uint64_t k = random.below(most_children + 1); k > 0 && !roots.empty(); --k) {
      parent[static_cast<std::size_t>(roots.back())] = j;
      roots.pop_back();
    }
    roots.push_back(j);
  }
  return parent;
}

struct boundary_case {
  std::vector<index_t> parent;
  block_map first;  // as A has them
};

// Column blocks of random panels and random ancestors of them, or of the last ancestor.
boundary_case random_case(index_t panels, std::uint64_t most_children, bool to_last,
                          random_source& random) {
  boundary_case out{random_tree(panels, most_children, random), {}};
  for (index_t k = 0; k < panels; ++k) {
    std::vector<index_t> above;
    for (index_t j = out.parent[static_cast<std::size_t>(k)]; j >= 0;
         j = out.parent[static_cast<std::size_t>(j)]) {
      above.push_back(j);
    }
    if (above.empty()) continue;
    for (std::uint64_t blocks = to_last ? 1 : random.below(4); blocks > 0; --blocks) {
      const index_t t = to_last ? above.back() : above[random.below(above.size())];
      out.first[{k, t}] |= panels::mask_t{1} << random.below(64);
    }
  }
  return out;
}

block_map climbed(const boundary_case& c) {
  block_map all;
  for (const auto& [at, mask] : c.first) {
    for (index_t j = at.first; j < at.second; j = c.parent[static_cast<std::size_t>(j)]) {
      all[{j, at.second}] |= mask;
    }
  }
  return all;
}

// first_panels::nearest.
std::vector<std::uint32_t> mirrored_firsts(const std::vector<index_t>& parent) {
  const auto panels = static_cast<index_t>(parent.size());
  std::vector<index_t> first(parent.size());
  for (index_t j = 0; j < panels; ++j) first[static_cast<std::size_t>(j)] = j;
  for (std::size_t j = 0; j < parent.size(); ++j) {
    if (parent[j] < 0) continue;
    index_t& of = first[static_cast<std::size_t>(parent[j])];
    of = std::min(of, first[j]);
  }
  std::vector<std::uint32_t> out(parent.size());
  for (std::size_t j = 0; j < parent.size(); ++j) {
    out[parent.size() - 1 - j] = static_cast<std::uint32_t>(first[j] == 0 ? -1 : panels - first[j]);
  }
  return out;
}

// Why the lists are not those of `all`; empty: they are.
std::string fault(const boundary_case& c, const block_map& all) {
  const auto panels = static_cast<index_t>(c.parent.size());
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 28);
  // A table with unused places.
  std::vector<panels::column_block> slots;
  for (const auto& [at, mask] : c.first) {
    slots.push_back({panels::column_block_key(at.first, at.second), mask});
    if (slots.size() % 3 == 0) slots.push_back({0, 0});
  }
  slots.push_back({0, 0});
  std::vector<std::uint32_t> counts(c.parent.size(), 0);
  std::vector<unsigned long long> members(c.parent.size(), 0);
  const std::vector<std::uint32_t> nearest = mirrored_firsts(c.parent);
  panels::boundary_lists lists;
  const auto capacity = static_cast<offset_t>(slots.size());
  if (lists.list_first(slots.data(), capacity, panels, budget) !=
      static_cast<offset_t>(c.first.size())) {
    return "number of first blocks";
  }
  if (!lists.climb(c.parent.data(), {panels, nearest.data()}, {counts.data(), members.data()},
                   budget)) {
    return "too many";
  }
  if (lists.count() != static_cast<offset_t>(all.size())) return "number of blocks";
  const std::size_t size = all.size() + 1;
  std::vector<panels::column_block> loose(size);
  std::vector<index_t> loose_first(size), target(size), first(size), begin;
  std::vector<panels::mask_t> masks(size);
  for (index_t j = 0; j <= panels; ++j) begin.push_back(2 * j);
  lists.sort(begin.data(), {loose.data(), loose_first.data()}, target.data(), masks.data(),
             first.data(), budget);
  if (budget.used() != 0) return "memory held";
  std::size_t k = 0;
  index_t position = 0;
  index_t panel = -1;
  for (const auto& [at, mask] : all) {
    if (at.first != panel) position = 2;
    panel = at.first;
    if (loose[k].panel() != at.first || target[k] != at.second || masks[k] != mask ||
        loose[k].mask != mask || loose[k].target() != at.second) {
      return "block " + std::to_string(k);
    }
    if (first[k] != position || loose_first[k] != position) return "place " + std::to_string(k);
    const auto here = static_cast<index_t>(std::popcount(mask));
    position += here;
    if (counts[static_cast<std::size_t>(panel)]-- == 0) return "count of blocks";
    members[static_cast<std::size_t>(panel)] -= static_cast<unsigned long long>(here);
    ++k;
  }
  for (std::size_t j = 0; j < c.parent.size(); ++j) {
    if (counts[j] != 0 || members[j] != 0) return "sizes of panel " + std::to_string(j);
  }
  return "";
}

}  // namespace

TEST_CASE("boundaries target by target are those of climbing from every block") {
  random_source random(5);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto panels = static_cast<index_t>(1 + random.below(120));
    const boundary_case c = random_case(panels, 1 + random.below(3), round % 3 == 0, random);
    CHECK(fault(c, climbed(c)) == "");
  }
}

TEST_CASE("many blocks of one target, below each other and side by side") {
  random_source random(6);
  for (const std::uint64_t most_children : {1, 3}) {
    boundary_case c = random_case(3000, most_children, true, random);
    CHECK(c.first.size() > 1000);
    CHECK(fault(c, climbed(c)) == "");
  }
  // All but the last are children of the last.
  boundary_case star{std::vector<index_t>(4000, 3999), {}};
  star.parent.back() = -1;
  for (index_t k = 0; k < 3999; ++k) star.first[{k, 3999}] = panels::mask_t{1} << k % 64;
  CHECK(fault(star, star.first) == "");
  // All are below each other.
  boundary_case path{{}, {}};
  for (index_t k = 0; k < 2500; ++k) path.parent.push_back(k == 2499 ? -1 : k + 1);
  for (index_t k = 0; k < 2499; k += 1 + k % 2) path.first[{k, 2499}] = panels::mask_t{1} << k % 61;
  CHECK(fault(path, climbed(path)) == "");
  // A wrong mask is noticed.
  block_map wrong = climbed(path);
  wrong.begin()->second ^= 1U << 5;
  CHECK(fault(path, wrong) != "");
}
