// labels: oracle
// program: emulated
// Compression on the host against its definition. The device has the host's orders
// (gpu_nested_dissection_test.cpp).
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;

namespace {

// What compress() gives, by its definition.
struct compression {
  orders::vertex_classes classes;
  graph g;
};

compression compression_of(const pattern& s) {
  compression c;
  std::vector<bool> hub(at(s.n_rows));
  for (index_t v = 0; v < s.n_rows; ++v) {
    if (s.row(v).empty()) c.classes.isolated.push_back(v);
  }
  const auto others = s.n_rows - static_cast<index_t>(c.classes.isolated.size());
  for (index_t v = 0; v < s.n_rows; ++v) {
    hub[at(v)] = orders::is_hub(static_cast<offset_t>(s.row(v).size()), others);
    if (hub[at(v)]) c.classes.hubs.push_back(v);
  }
  std::map<std::vector<index_t>, index_t> known;
  std::vector<std::vector<index_t>> members;
  std::vector<index_t> id(at(s.n_rows), -1);
  for (index_t v = 0; v < s.n_rows; ++v) {
    if (hub[at(v)] || s.row(v).empty()) continue;
    std::vector<index_t> closed{v};
    for (const index_t u : s.row(v)) {
      if (!hub[at(u)]) closed.push_back(u);
    }
    std::ranges::sort(closed);
    const auto [place, is_new] = known.try_emplace(closed, static_cast<index_t>(members.size()));
    if (is_new) members.emplace_back();
    members[at(place->second)].push_back(v);
    id[at(v)] = place->second;
  }
  c.classes.member_start.push_back(0);
  graph& g = c.g;
  for (const auto& own : members) {
    const auto i = g.n++;
    c.classes.members.insert(c.classes.members.end(), own.begin(), own.end());
    c.classes.member_start.push_back(static_cast<index_t>(c.classes.members.size()));
    g.weight.push_back(static_cast<index_t>(own.size()));
    g.total += g.weight.back();
    g.begin.push_back(static_cast<offset_t>(g.adj.size()));
    std::vector<index_t> row;
    for (const index_t u : s.row(own[0])) {
      if (id[at(u)] >= 0 && id[at(u)] != i) row.push_back(id[at(u)]);
    }
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
    g.adj.insert(g.adj.end(), row.begin(), row.end());
    g.end.push_back(static_cast<offset_t>(g.adj.size()));
  }
  g.edge.assign(g.adj.size(), 1);
  g.entries = static_cast<offset_t>(g.adj.size());
  return c;
}

void check_compression(const pattern& s) {
  const compression expected = compression_of(s);
  orders::team alone;
  const orders::compressed_graph of_host = orders::compress(alone, s);
  CHECK(of_host.hubs == expected.classes.hubs);
  CHECK(of_host.isolated == expected.classes.isolated);
  CHECK(of_host.members == expected.classes.members);
  CHECK(of_host.member_start == expected.classes.member_start);
  CHECK(orders::test::same(of_host.g, expected.g));
}

}  // namespace

TEST_CASE("compression finds hubs and classes") {
  for (const pattern& s : orders::test::subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    check_compression(s);
  }
}
