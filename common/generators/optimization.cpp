// Least squares, set covering and linear programs.

#include "common/generators/families.hpp"

#include <algorithm>

namespace gsofa::generator {

namespace {

/// For each of `count` items its members among `choices`: near its own place or, with probability
/// `far`, below a random bound, so that early ones have many items.
std::vector<std::vector<index_t>> draw_members(const arguments& args, index_t count,
                                               index_t choices) {
  random_source random(args.seed());
  const auto draw = [&](offset_t bound) {
    return static_cast<offset_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  const offset_t span = std::min(args.integer("span"), choices);
  const probability far = args.chance("far");
  std::vector<std::vector<index_t>> all(at(count));
  for (index_t i = 0; i < count; ++i) {
    std::vector<index_t>& members = all[at(i)];
    // The window begins such that it ends within the choices.
    const offset_t begin = i * (choices - span + 1) / offset_t{count};
    for (index_t k = std::max(1, rounded_at_random(random, args.real("degree"))); k > 0; --k) {
      const offset_t member = random.chance(far) ? draw(draw(choices) + 1) : begin + draw(span);
      members.push_back(static_cast<index_t>(member));
    }
    std::ranges::sort(members);
    members.erase(std::ranges::unique(members).begin(), members.end());
  }
  return all;
}

}  // namespace

/// The pattern of [I A^T; A I], the columns of A first.
/// Source: Björck, Numerical Methods for Least Squares Problems (1996), section 1.2.
pattern make_bipartite_kkt(const arguments& args) {
  const index_t rows = args.integer("rows"), columns = args.integer("columns");
  if (offset_t{rows} + columns > max_index) args.fail("the order does not fit in 32 bits");
  args.check_entries(static_cast<offset_t>(2 * (args.real("degree") + 1) * rows) + columns);
  symmetric_entries a(rows + columns);
  const auto members = draw_members(args, rows, columns);
  for (index_t i = 0; i < rows; ++i) {
    for (const index_t j : members[at(i)]) a.couple(columns + i, {j});
  }
  return a.take();
}

/// A A^T: the rows of each column of A are a clique.
pattern make_normal_equations(const arguments& args) {
  const double degree = args.real("degree") + 1;
  args.check_entries(static_cast<offset_t>(degree * degree * args.integer("columns")));
  symmetric_entries a(args.integer("rows"));
  for (const auto& clique : draw_members(args, args.integer("columns"), args.integer("rows"))) {
    for (std::size_t k = 0; k < clique.size(); ++k) {
      for (std::size_t l = 0; l < k; ++l) a.couple(clique[k], {clique[l]});
    }
  }
  return a.take();
}

}  // namespace gsofa::generator
