#include "harness/check/test_patterns.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "common/random.hpp"
#include "reference/worked_example.hpp"

namespace gsofa {

namespace {

// The pattern of order n with diagonal and every (i, j) for which `entry` holds.
pattern where(index_t n, const std::function<bool(index_t, index_t)>& entry) {
  triplets t;
  t.n_rows = t.n_cols = n;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (i == j || entry(i, j)) {
        t.rows.push_back(i);
        t.cols.push_back(j);
      }
    }
  }
  return from_triplets(t, duplicates::reject);
}

std::vector<index_t> shuffled(index_t n, random_source& random) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  return order;
}

}  // namespace

std::vector<named_pattern> special_patterns() {
  std::vector<named_pattern> all;
  auto add = [&](std::string name, index_t n, const std::function<bool(index_t, index_t)>& f) {
    all.push_back({std::move(name) + " of order " + std::to_string(n), where(n, f)});
  };
  all.push_back({"worked example", reference::worked_example()});
  for (const index_t n : {1, 2, 3, 7, 64, 65, 129}) {
    add("diagonal", n, [](index_t, index_t) { return false; });
    add("dense", n, [](index_t, index_t) { return true; });
    add("tridiagonal", n, [](index_t i, index_t j) { return i - j == 1 || j - i == 1; });
    add("arrow with full first row and column", n,
        [](index_t i, index_t j) { return i == 0 || j == 0; });
    add("arrow with full last row and column", n,
        [n](index_t i, index_t j) { return i == n - 1 || j == n - 1; });
    add("full first row", n, [](index_t i, index_t) { return i == 0; });
    add("full first column", n, [](index_t, index_t j) { return j == 0; });
    add("full last row", n, [n](index_t i, index_t) { return i == n - 1; });
    add("full last column", n, [n](index_t, index_t j) { return j == n - 1; });
    add("lower triangular", n, [](index_t i, index_t j) { return i > j; });
    add("upper triangular", n, [](index_t i, index_t j) { return i < j; });
    add("Hessenberg", n, [](index_t i, index_t j) { return i <= j + 1; });
    add("cyclic", n, [n](index_t i, index_t j) { return j == (i + 1) % n; });
    add("cyclic backwards", n, [n](index_t i, index_t j) { return i == (j + 1) % n; });
    add("antidiagonal", n, [n](index_t i, index_t j) { return i + j == n - 1; });
    add("blocks of three", n, [](index_t i, index_t j) { return i / 3 == j / 3; });
    add("blocks of three, linked", n,
        [](index_t i, index_t j) { return i / 3 == j / 3 || i / 3 == j / 3 + 1; });
    add("descending staircase", n, [](index_t i, index_t j) { return j == i / 2; });
    add("odd and even", n, [](index_t i, index_t j) { return (i + j) % 2 == 0; });
  }
  return all;
}

named_pattern random_pattern(std::uint64_t seed, std::uint64_t k) {
  random_source random(keyed_random(seed, k, 0));
  const bool large = random.below(25) == 0;
  const auto n = static_cast<index_t>(large ? random.between(41, 200) : random.between(1, 40));
  const auto order = static_cast<std::uint64_t>(n);
  // Expected entries per row: from almost diagonal to dense.
  static constexpr std::array<double, 6> row_entries{0.3, 1, 1.7, 3, 6, 15};
  const double d = row_entries[random.below(large ? 4 : 6)];
  const probability p(d >= n ? 1.0 : d / n);
  const auto width = static_cast<index_t>(1 + random.below(1 + order / 3));
  const auto block = static_cast<index_t>(2 + random.below(5));
  const auto hub = static_cast<index_t>(random.below(order));
  const auto hub_2 = static_cast<index_t>(random.below(order));
  auto chance = [&](index_t, index_t) { return random.chance(p); };
  const probability few(0.1), most(0.8), half(0.5);

  switch (random.below(10)) {
    case 0:
      return {"banded", where(n, [&](index_t i, index_t j) {
                const index_t distance = i > j ? i - j : j - i;
                return distance <= width && random.chance(half);
              })};
    case 1:
      return {"hub row and hub column", where(n, [&](index_t i, index_t j) {
                return (i == hub || j == hub_2) ? random.chance(most) : random.chance(p);
              })};
    case 2:
      return {"linked blocks", where(n, [&](index_t i, index_t j) {
                return i / block == j / block ? random.chance(most) : chance(i, j);
              })};
    case 3:
      return {"mostly lower", where(n, [&](index_t i, index_t j) {
                return random.chance(p) && (i > j || random.chance(few));
              })};
    case 4:
      return {"mostly upper", where(n, [&](index_t i, index_t j) {
                return random.chance(p) && (i < j || random.chance(few));
              })};
    case 5: {
      const pattern half_of_it =
          where(n, [&](index_t i, index_t j) { return i > j && random.chance(p); });
      return {"symmetric", symmetrized(half_of_it, diagonal::keep)};
    }
    case 6: {
      // A few directed chains under a random labelling: long paths with late small vertices.
      const auto label = shuffled(n, random);
      triplets t;
      t.n_rows = t.n_cols = n;
      for (std::size_t s = 0; s + 1 < label.size(); ++s) {
        if (random.below(8) == 0) continue;
        t.rows.push_back(label[s]);
        t.cols.push_back(label[s + 1]);
      }
      for (std::uint64_t extra = random.below(1 + order / 2); extra > 0; --extra) {
        t.rows.push_back(static_cast<index_t>(random.below(order)));
        t.cols.push_back(static_cast<index_t>(random.below(order)));
      }
      return {"chains", with_diagonal(from_triplets(t, duplicates::merge))};
    }
    case 7: {
      const auto grid = static_cast<index_t>(2 + random.below(6));
      return {"grid with one-directional edges", where(n, [&](index_t i, index_t j) {
                const index_t distance = i > j ? i - j : j - i;
                return (distance == 1 || distance == grid) && random.chance(most);
              })};
    }
    default:
      return {"uniform", where(n, chance)};
  }
}

namespace {

constexpr std::array<index_t, 7> large_orders{32767, 32768, 32769, 65535, 65536, 65537, 70001};

}  // namespace

std::size_t large_pattern_count() { return large_orders.size(); }

named_pattern large_pattern(std::size_t k) {
  const index_t n = large_orders.at(k);
  pattern a;
  a.n_rows = a.n_cols = n;
  auto add = [&](index_t j) { a.col_idx.push_back(j); };
  for (index_t i = 0; i < n; ++i) {
    const index_t block = i - i % 3;
    const index_t end = std::min<index_t>(block + 4, n);
    if (i == n - 1 && block > 0) add(0);
    // The last vertex of a block leads to the first one of the next.
    for (index_t j = block; j < end; ++j) {
      if (j < block + 3 || i == block + 2) add(j);
    }
    if (i % 1000 == 0 && end < n) add(n - 1);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return {"linked blocks with a full last row of order " + std::to_string(n), std::move(a)};
}

std::string picture(const pattern_view& a) {
  const auto size = [](index_t v) { return std::to_string(v).size(); };
  const std::size_t margin = size(std::max(0, a.n_rows - 1)) + 3;
  // Numbers of columns above each other: tens over units.
  std::string text;
  for (index_t unit = a.n_cols > 10 ? 10 : 1; unit > 0; unit /= 10) {
    std::string line(margin - 1, ' ');
    for (index_t j = 0; j < a.n_cols; ++j) {
      const bool blank = unit == 10 && j % 10 != 0;
      line += blank ? "  " : " " + std::to_string(j / unit % 10);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (index_t i = 0; i < a.n_rows; ++i) {
    std::string line(2 * static_cast<std::size_t>(a.n_cols), ' ');
    for (index_t j = 0; j < a.n_cols; ++j) line[2 * static_cast<std::size_t>(j) + 1] = '.';
    for (const index_t j : a.row(i)) line[2 * static_cast<std::size_t>(j) + 1] = '1';
    text += std::string(margin - 1 - size(i), ' ') + std::to_string(i) + line + "\n";
  }
  return text;
}

}  // namespace gsofa
