// Direct sums of many small matrices.

#include "common/generators/families.hpp"

#include <charconv>
#include <numeric>

#include "common/generators.hpp"

namespace gsofa::generator {

namespace {

std::string text_of(double x) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

/// The nodes of a square, row by row, of which the first n exist.
class square_dissection {
 public:
  square_dissection(index_t width, index_t n) : width_(width), n_(n) { order_.reserve(at(n)); }

  /// Nested dissection by lines of nodes across the longer side, which are numbered last.
  /// Source: George, SIAM J. Numer. Anal. 10 (1973), 345-363.
  std::vector<index_t> order() {
    dissect(0, width_, 0, (n_ - 1) / width_ + 1);
    return std::move(order_);
  }

 private:
  void dissect(index_t x0, index_t x1, index_t y0, index_t y1) {
    if (x1 - x0 <= 2 && y1 - y0 <= 2) return take(x0, x1, y0, y1);
    if (x1 - x0 >= y1 - y0) {
      const index_t x = std::midpoint(x0, x1);
      dissect(x0, x, y0, y1);
      dissect(x + 1, x1, y0, y1);
      take(x, x + 1, y0, y1);
    } else {
      const index_t y = std::midpoint(y0, y1);
      dissect(x0, x1, y0, y);
      dissect(x0, x1, y + 1, y1);
      take(x0, x1, y, y + 1);
    }
  }
  void take(index_t x0, index_t x1, index_t y0, index_t y1) {
    for (index_t y = y0; y < y1; ++y) {
      for (index_t x = x0; x < x1; ++x) {
        if (y * width_ + x < n_) order_.push_back(y * width_ + x);
      }
    }
  }

  index_t width_, n_;
  std::vector<index_t> order_;
};

}  // namespace

pattern make_batch(const arguments& args) {
  const index_t least = args.integer("least");
  const index_t most = args.integer("most");
  if (least > most) {
    args.fail("least = " + std::to_string(least) + " exceeds most = " + std::to_string(most));
  }
  static_cast<void>(args.order({args.integer("count"), least}));
  const std::string filters =
      ",oneway=" + text_of(args.real("oneway")) + ",drop=" + text_of(args.real("drop"));
  random_source random(args.seed());
  pattern out;
  for (index_t k = 0; k < args.integer("count"); ++k) {
    const auto n = static_cast<index_t>(random.between(least, most));
    index_t width = 1;
    while (offset_t{width} * width < n) ++width;
    const std::string text = std::to_string(n);
    const std::string size = args.word("kind") == "circuit"
                                 ? "circuit:n=" + text
                                 : "grid5:nx=" + std::to_string(width) + ",n=" + text;
    const pattern block =
        generate(size + filters + ",seed=" + std::to_string(random.below(std::uint64_t{1} << 31)));
    const index_t begin = out.n_rows;
    if (n > max_index - begin) args.fail("the order does not fit in 32 bits");
    args.check_entries(out.nnz() + block.nnz());
    out.n_rows = out.n_cols = begin + n;
    const std::vector<index_t> order = square_dissection(width, n).order();
    const pattern ordered = permute(block, order, order);
    for (index_t i = 0; i < n; ++i) {
      for (const index_t j : ordered.row(i)) out.col_idx.push_back(begin + j);
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
  }
  return out;
}

}  // namespace gsofa::generator
