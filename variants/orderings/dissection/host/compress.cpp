// The graph that is dissected: without isolated vertices and hubs, and with one vertex for all that
// have one closed neighbourhood.

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "common/large_pages.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

// Rows longer than max(256, 10 sqrt n), for n vertices with neighbours.
std::vector<std::uint8_t> find_hubs(team& crew, const pattern_view& s) {
  std::vector<std::uint8_t> hub(at(s.n_rows), 0);
  index_t n = 0;
  for (index_t v = 0; v < s.n_rows; ++v) n += s.row(v).empty() ? 0 : 1;
  crew.ranges(s.n_rows, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) {
      const auto degree = static_cast<offset_t>(s.row(v).size());
      hub[at(v)] = is_hub(degree, n) ? 1 : 0;
    }
  });
  return hub;
}

// Whether u < v, which are adjacent, have one closed neighbourhood, hubs apart.
bool same_neighbourhood(const pattern_view& s, std::span<const std::uint8_t> hub, index_t u,
                        index_t v) {
  const auto a = s.row(u);
  const auto b = s.row(v);
  // With the same hubs, entries between u and v are one place further on in row v.
  const auto of_v = std::ranges::lower_bound(a, v);
  const auto of_u = std::ranges::lower_bound(b, u);
  const auto same = a.begin() + (of_u - b.begin());
  if (a.size() == b.size() && same <= of_v && std::equal(a.begin(), same, b.begin()) &&
      std::equal(same, of_v, of_u + 1) &&
      std::equal(of_v + 1, a.end(), b.begin() + (of_v - a.begin()) + 1)) {
    return true;
  }
  const auto skip = [&](std::span<const index_t> row, std::size_t& i) {
    while (i < row.size() && (hub[at(row[i])] != 0 || row[i] == u || row[i] == v)) ++i;
  };
  for (std::size_t i = 0, j = 0;; ++i, ++j) {
    skip(a, i);
    skip(b, j);
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i] != b[j]) return false;
  }
}

// For each vertex the smallest one of its closed neighbourhood, as a set. Two vertices of one
// closed neighbourhood are adjacent, so only neighbours are compared.
std::vector<index_t> find_twins(team& crew, const pattern_view& s,
                                std::span<const std::uint8_t> hub) {
  std::vector<std::uint64_t> key(at(s.n_rows));
  std::vector<std::uint64_t> hash(at(s.n_rows));
  std::vector<index_t> twin(at(s.n_rows));
  crew.ranges(s.n_rows, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) {
      key[at(v)] = hub[at(v)] != 0 ? 0 : mix64(static_cast<std::uint64_t>(v) + 1);
    }
  });
  crew.ranges(s.n_rows, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) {
      std::uint64_t sum = key[at(v)];
      for (const index_t u : s.row(v)) sum += key[at(u)];
      hash[at(v)] = sum;
    }
  });
  crew.ranges(s.n_rows, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) {
      twin[at(v)] = v;
      if (hub[at(v)] != 0) continue;
      for (const index_t u : s.row(v)) {
        if (u >= v) break;
        if (hash[at(u)] != hash[at(v)] || hub[at(u)] != 0) continue;
        if (!same_neighbourhood(s, hub, u, v)) continue;
        twin[at(v)] = u;
        break;
      }
    }
  });
  return twin;
}

// Lists the members of each class; id[v]: the class of v, -1 for a hub or an isolated vertex.
void list_members(compressed_graph& c, const pattern_view& s, std::span<const std::uint8_t> hub,
                  std::span<const index_t> twin, std::vector<index_t>& id) {
  const auto n = static_cast<index_t>(twin.size());
  std::vector<index_t> size;
  for (index_t v = 0; v < n; ++v) {
    if (hub[at(v)] != 0) {
      c.hubs.push_back(v);
    } else if (s.row(v).empty()) {
      c.isolated.push_back(v);
    } else if (twin[at(v)] == v) {
      id[at(v)] = c.g.n++;
      size.push_back(1);
    } else {
      id[at(v)] = id[at(twin[at(v)])];
      ++size[at(id[at(v)])];
    }
  }
  c.member_start.assign(at(c.g.n) + 1, 0);
  std::partial_sum(size.begin(), size.end(), c.member_start.begin() + 1);
  c.members.resize(at(c.member_start.back()));
  std::vector<index_t> next(c.member_start.begin(), c.member_start.end() - 1);
  for (index_t v = 0; v < n; ++v) {
    if (id[at(v)] >= 0) c.members[at(next[at(id[at(v)])]++)] = v;
  }
  c.g.weight = std::move(size);
}

// The weight of a class is the sum of the weights of its members.
void weigh(compressed_graph& c, std::span<const index_t> weights) {
  for (index_t i = 0; i < c.g.n; ++i) {
    offset_t sum = 0;
    for (index_t m = c.member_start[at(i)]; m < c.member_start[at(i) + 1]; ++m) {
      sum += weights[at(c.members[at(m)])];
    }
    c.g.weight[at(i)] = static_cast<index_t>(sum);
  }
}

}  // namespace

compressed_graph compress(team& crew, const pattern_view& s, std::span<const index_t> weights,
                          bool hubs_go_last) {
  compressed_graph c;
  const std::vector<std::uint8_t> hub =
      hubs_go_last ? find_hubs(crew, s) : std::vector<std::uint8_t>(at(s.n_rows), 0);
  const std::vector<index_t> twin = find_twins(crew, s, hub);
  std::vector<index_t> id(at(s.n_rows), -1);
  list_members(c, s, hub, twin, id);
  if (!weights.empty()) weigh(c, weights);
  c.g.total = std::accumulate(c.g.weight.begin(), c.g.weight.end(), offset_t{0});
  graph& g = c.g;
  g.begin.resize(at(g.n));
  g.end.resize(at(g.n));
  offset_t room = 0;
  for (index_t i = 0; i < g.n; ++i) {
    g.begin[at(i)] = room;
    room += static_cast<offset_t>(s.row(c.members[at(c.member_start[at(i)])]).size());
  }
  index_t* const adj = storage_to_write(g.adj, at(room));
  crew.ranges(g.n, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto i = static_cast<index_t>(from); i < to; ++i) {
      const index_t v = c.members[at(c.member_start[at(i)])];
      offset_t next = g.begin[at(i)];
      for (const index_t u : s.row(v)) {
        if (hub[at(u)] == 0 && twin[at(u)] == u && id[at(u)] != i) adj[next++] = id[at(u)];
      }
      g.end[at(i)] = next;
    }
  });
  take_written(g.adj, at(room));
  for (index_t i = 0; i < g.n; ++i) g.entries += g.degree(i);
  return c;
}

double size_of_blocks(const pattern_view& s) {
  constexpr index_t most = 64;
  const std::vector<std::uint8_t> no_hub(at(s.n_rows), 0);
  double vertices = 0, blocks = 0;
  const index_t step = std::max(1, s.n_rows / most);
  for (offset_t k = 0; k < s.n_rows; k += step) {
    const auto v = static_cast<index_t>(k);
    const auto row = s.row(v);
    if (row.empty()) continue;
    index_t twins = 0;  // at most `most`: a comparison takes as long as the row
    for (const index_t u : row) {
      const bool may_be = twins < most && s.row(u).size() == row.size();
      twins += may_be && same_neighbourhood(s, no_hub, std::min(u, v), std::max(u, v)) ? 1 : 0;
    }
    ++vertices;
    blocks += 1.0 / (1 + twins);
  }
  return vertices == 0 ? 0 : vertices / blocks;
}

std::optional<vertex_blocks> find_blocks(team& crew, const pattern_view& s) {
  compressed_graph c = compress(crew, s, {}, /*hubs_go_last=*/false);
  const index_t vertices = s.n_rows - static_cast<index_t>(c.isolated.size());
  if (2 * offset_t{c.g.n} > vertices) return std::nullopt;
  vertex_blocks blocks{
      .classes = std::move(static_cast<vertex_classes&>(c)), .rows = {}, .weight = {}};
  blocks.rows.n_rows = blocks.rows.n_cols = c.g.n;
  blocks.rows.row_ptr.assign(1, 0);
  blocks.rows.col_idx.reserve(at(c.g.entries));
  for (index_t i = 0; i < c.g.n; ++i) {
    const auto row = c.g.row(i);
    blocks.rows.col_idx.insert(blocks.rows.col_idx.end(), row.begin(), row.end());
    blocks.rows.row_ptr.push_back(static_cast<offset_t>(blocks.rows.col_idx.size()));
  }
  blocks.weight = std::move(c.g.weight);
  return blocks;
}

std::vector<index_t> vertex_blocks::expand(std::span<const index_t> order) const {
  std::vector<index_t> vertices = classes.isolated;
  for (const index_t i : order) {
    vertices.insert(vertices.end(), classes.members.begin() + classes.member_start[at(i)],
                    classes.members.begin() + classes.member_start[at(i) + 1]);
  }
  return vertices;
}

dissection expand(const vertex_classes& c, std::span<const node> tree,
                  std::vector<index_t> position, offset_t most_isolated) {
  dissection result;
  const bool single = c.member_start.empty();  // each vertex is a class
  result.order = c.isolated;
  result.order.reserve(c.isolated.size() + c.members.size() + c.hubs.size());
  const auto end_node = [&](index_t last, index_t parent) {
    result.tree.start.push_back(last);
    result.tree.parent.push_back(parent);
  };
  const auto isolated = std::ssize(c.isolated);
  for (offset_t last = 0; last < isolated;) {
    last += std::min(isolated - last, most_isolated);
    end_node(static_cast<index_t>(last), -1);
  }
  const auto before = static_cast<index_t>(result.tree.parent.size());
  std::vector<index_t> node_at(position.size() + 1, -1);
  for (std::size_t i = 0; i < tree.size(); ++i)
    node_at[at(tree[i].first)] = before + static_cast<index_t>(i);
  const auto root = c.hubs.empty() ? index_t{-1} : before + static_cast<index_t>(tree.size());
  for (const node& k : tree) {
    for (index_t i = k.first; i < k.last && !single; ++i) {
      const index_t v = position[at(i)];
      for (index_t m = c.member_start[at(v)]; m < c.member_start[at(v) + 1]; ++m) {
        result.order.push_back(c.members[at(m)]);
      }
    }
    end_node(single ? k.last : static_cast<index_t>(result.order.size()),
             k.above == no_node ? root : node_at[at(k.above)]);
  }
  if (single) result.order = std::move(position);
  if (!c.hubs.empty()) {
    result.order.insert(result.order.end(), c.hubs.begin(), c.hubs.end());
    end_node(static_cast<index_t>(result.order.size()), -1);
  }
  return result;
}

}  // namespace gsofa::orders
