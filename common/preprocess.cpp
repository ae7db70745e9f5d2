#include "common/preprocess.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

// Eigen's headers are written for fewer warnings than this project's.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#pragma GCC diagnostic pop

#include "common/metis_guard.hpp"

#ifdef GSOFA_HAVE_BTF
#include <btf.h>
#endif

namespace gsofa {

namespace {

std::vector<int> narrow_offsets(const pattern_view& a, const char* what) {
  narrow<int>(a.nnz(), what);
  return {a.row_ptr.begin(), a.row_ptr.end()};
}

std::vector<index_t> identity_order(index_t n) {
  std::vector<index_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

[[maybe_unused]] unavailable_error needs(const char* task, const char* library,
                                         const char* debian) {
  return unavailable_error(std::string(task) + " needs " + library +
                           ", which this build lacks (apt-get install " + debian +
                           " and configure again)");
}

std::vector<index_t> metis_order([[maybe_unused]] const pattern_view& a,
                                 [[maybe_unused]] std::int64_t seed) {
#ifdef GSOFA_HAVE_METIS
  static_assert(sizeof(idx_t) == sizeof(index_t), "METIS with 32-bit indices");
  const pattern s = symmetrized(a, diagonal::drop);
  if (s.nnz() == 0) return identity_order(a.n_rows);  // METIS rejects a graph without edges
  std::vector<idx_t> xadj = narrow_offsets(s, "edges of A + A^T for METIS");
  std::vector<idx_t> adjncy = s.col_idx;
  std::vector<idx_t> perm(at(a.n_rows));
  std::vector<idx_t> iperm(at(a.n_rows));
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  if (seed >= 0) options[METIS_OPTION_SEED] = narrow<idx_t>(seed, "METIS seed");
  metis_node_nd(a.n_rows, xadj.data(), adjncy.data(), options, perm.data(), iperm.data());
  return perm;  // perm[k] is the old number of the vertex at position k
#else
  throw needs("--order metis", "METIS", "libmetis-dev");
#endif
}

// AMD and COLAMD as shipped with Eigen. Eigen is column-major: a row-major pattern of A is handed
// over as A^T, which leaves A + A^T unchanged.
std::vector<index_t> eigen_order(const pattern_view& a, bool column_order) {
  const pattern s = column_order ? transpose(a) : symmetrized(a, diagonal::keep);
  std::vector<int> outer = narrow_offsets(s, "nonzeros for the ordering");
  std::vector<int> inner = s.col_idx;
  std::vector<char> values(inner.size(), 1);
  using sparse = Eigen::SparseMatrix<char, Eigen::ColMajor, int>;
  const Eigen::Map<const sparse> view(a.n_cols, a.n_rows, static_cast<int>(s.nnz()), outer.data(),
                                      inner.data(), values.data());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> perm;
  if (column_order) {
    // s = A^T in rows, so that its compressed columns are the columns of A
    Eigen::COLAMDOrdering<int>()(sparse(view), perm);
    // indices()(j) is the position of column j
    const std::vector<index_t> position(perm.indices().data(),
                                        perm.indices().data() + perm.indices().size());
    return inverse_permutation(position);
  }
  Eigen::AMDOrdering<int>()(sparse(view), perm);
  return {perm.indices().data(), perm.indices().data() + perm.indices().size()};
}

// The whole of `file`; it may be a pipe or a device, of which there need not be an end.
std::string read_bounded(const std::string& file, std::size_t most_bytes) {
  std::error_code failure;
  if (std::filesystem::is_directory(file, failure)) throw input_error(file + ": is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error(file + ": cannot open permutation file");
  std::string text;
  constexpr std::size_t block = std::size_t{1} << 16;
  while (in) {
    const std::size_t size = text.size();
    text.resize(size + block);
    in.read(text.data() + size, block);
    text.resize(size + at(in.gcount()));
    if (text.size() > most_bytes) {
      throw input_error(file + ": longer than " + std::to_string(most_bytes) +
                        " bytes, too long for a permutation of the matrix");
    }
  }
  if (in.bad()) throw input_error(file + ": cannot read");
  return text;
}

// A word of a file as it may stand in a message.
std::string quoted(std::string_view word) {
  constexpr std::size_t most = 20;
  std::string text(word.substr(0, most));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return "'" + text + (word.size() > most ? "...'" : "'");
}

std::vector<index_t> read_permutation(const std::string& file, index_t n) {
  // Room for comments, and 64 bytes for each number, of which the number takes at most 11.
  const std::string text = read_bounded(file, (std::size_t{1} << 20) + 64 * at(n));
  auto fail = [&](std::size_t where, const std::string& why) {
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(where), '\n');
    throw input_error(file + ":" + std::to_string(lines + 1) + ": " + why);
  };
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const std::string_view all = text;
  std::vector<index_t> order;
  order.reserve(at(n));
  for (std::size_t begin = 0; (begin = all.find_first_not_of(blanks, begin)) != all.npos;) {
    const std::size_t end = std::min(all.find_first_of(blanks, begin), all.size());
    const std::string_view word = all.substr(begin, end - begin);
    if (word[0] == '#' || word[0] == '%') {
      begin = std::min(all.find('\n', begin), all.size());
      continue;
    }
    index_t v = 0;
    const auto [stop, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (ec != std::errc{} || stop != word.data() + word.size()) {
      fail(begin, quoted(word) + " is not a row number");
    }
    if (order.size() == at(n)) fail(begin, "more than " + std::to_string(n) + " entries");
    order.push_back(v);
    begin = end;
  }
  validate_permutation(order, n, file);
  return order;
}

}  // namespace

std::vector<std::string> available_orders() {
  std::vector<std::string> out{"amd", "colamd", "natural"};
#ifdef GSOFA_HAVE_METIS
  out.insert(out.begin(), "metis");
#endif
  return out;
}

transversal maximum_transversal([[maybe_unused]] const pattern_view& a) {
#ifdef GSOFA_HAVE_BTF
  const int n_rows = a.n_rows;
  const int n_cols = a.n_cols;
  // BTF reads compressed columns; the rows of A are the columns of A^T, so that it returns for
  // each row of A the column matched to it.
  std::vector<int> ptr = narrow_offsets(a, "nonzeros for the matching");
  std::vector<int> idx(a.col_idx.begin(), a.col_idx.end());
  std::vector<int> match(at(n_cols), -1);
  std::vector<int> work(5 * at(n_rows) + 1);
  double operations = 0;
  transversal t;
  t.structural_rank = btf_maxtrans(n_cols, n_rows, ptr.data(), idx.data(), 0.0, &operations,
                                   match.data(), work.data());
  // match[j] is the row of A matched to column j
  t.row_of_col.assign(match.begin(), match.end());
  return t;
#else
  throw needs("matching", "SuiteSparse BTF", "libsuitesparse-dev");
#endif
}

block_structure block_triangular_form([[maybe_unused]] const pattern_view& a) {
#ifdef GSOFA_HAVE_BTF
  const transversal t = maximum_transversal(a);
  if (t.structural_rank < a.n_rows) return {};
  const pattern matched = permute(a, t.row_of_col, identity_order(a.n_cols));
  std::vector<int> ptr = narrow_offsets(matched, "nonzeros for the block triangular form");
  std::vector<int> idx = matched.col_idx;
  std::vector<int> p(at(a.n_rows) + 1);
  std::vector<int> r(at(a.n_rows) + 1);
  std::vector<int> work(4 * at(a.n_rows) + 1);
  block_structure b;
  b.blocks =
      btf_strongcomp(a.n_rows, ptr.data(), idx.data(), nullptr, p.data(), r.data(), work.data());
  for (index_t k = 0; k < b.blocks; ++k) {
    b.largest = std::max(b.largest, r[at(k) + 1] - r[at(k)]);
  }
  return b;
#else
  throw needs("the block triangular form", "SuiteSparse BTF", "libsuitesparse-dev");
#endif
}

std::vector<index_t> elimination_tree(const pattern_view& s) {
  std::vector<index_t> parent(at(s.n_rows), -1);
  std::vector<index_t> ancestor(at(s.n_rows), -1);
  for (index_t i = 0; i < s.n_rows; ++i) {
    for (index_t k : s.row(i)) {
      // Climb from k towards i; every vertex passed gets i as its ancestor.
      while (k != -1 && k < i) {
        const index_t next = ancestor[at(k)];
        ancestor[at(k)] = i;
        if (next == -1) parent[at(k)] = i;
        k = next;
      }
    }
  }
  return parent;
}

std::vector<index_t> postorder(std::span<const index_t> parent) {
  const auto n = static_cast<index_t>(parent.size());
  std::vector<index_t> first_child(at(n), -1);
  std::vector<index_t> sibling(at(n), -1);
  std::vector<index_t> order;
  order.reserve(at(n));
  for (index_t v = n - 1; v >= 0; --v) {
    if (parent[at(v)] == -1) continue;
    sibling[at(v)] = first_child[at(parent[at(v)])];
    first_child[at(parent[at(v)])] = v;
  }
  std::vector<index_t> stack;
  for (index_t root = 0; root < n; ++root) {
    if (parent[at(root)] != -1) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const index_t v = stack.back();
      const index_t child = first_child[at(v)];
      if (child == -1) {
        order.push_back(v);
        stack.pop_back();
      } else {
        first_child[at(v)] = sibling[at(child)];
        stack.push_back(child);
      }
    }
  }
  return order;
}

bool is_order_method(const std::string& spec) {
  return spec == "metis" || spec == "amd" || spec == "colamd" || spec == "natural";
}

std::string order_library(const std::string& method) {
  if (method == "metis") {
#ifdef GSOFA_HAVE_METIS
    return "METIS " + std::to_string(METIS_VER_MAJOR) + "." + std::to_string(METIS_VER_MINOR) +
           "." + std::to_string(METIS_VER_SUBMINOR);
#endif
  } else if (method == "amd" || method == "colamd") {
    return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
           std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  }
  return "";
}

ordering compute_order(const pattern_view& a, const std::string& spec, std::int64_t seed) {
  if (spec == "natural") return {identity_order(a.n_rows), "natural", ""};
  ordering o;
  if (spec == "metis") {
    o = {metis_order(a, seed), "metis", order_library(spec)};
  } else if (spec == "amd" || spec == "colamd") {
    o = {eigen_order(a, spec == "colamd"), spec, order_library(spec)};
  } else if (spec.find('/') == std::string::npos && spec.find('.') == std::string::npos &&
             !std::filesystem::is_regular_file(spec)) {
    throw input_error("unknown order '" + spec +
                      "': one of metis, amd, colamd, natural, or the path of a permutation file");
  } else {
    o = {read_permutation(spec, a.n_rows), "file", spec};
  }
  validate_permutation(o.order, a.n_rows, "order " + o.method);
  return o;
}

matched_pattern match_diagonal(pattern a, match_mode mode) {
  const index_t missing = count_missing_diagonal(a);
  matched_pattern m{.structural_rank = a.n_rows};
  std::vector<index_t> rows = identity_order(a.n_rows);
  if (mode == match_mode::none) {
    m.how = "none";
    m.diagonal_added = missing;
    if (missing != 0) a = with_diagonal(a);
  } else if (missing == 0) {
    m.how = "kept";
  } else {
    m.how = "maximum";
    transversal t = maximum_transversal(a);
    m.structural_rank = t.structural_rank;
    if (t.structural_rank < a.n_rows) return m;
    rows = std::move(t.row_of_col);
    a = permute(a, rows, identity_order(a.n_cols));
  }
  m.matched = {std::move(a), std::move(rows), identity_order(m.structural_rank)};
  return m;
}

void reorder(permuted_pattern& p, std::span<const index_t> order, bool postordered) {
  std::vector<index_t> total(order.begin(), order.end());
  p.a = permute(p.a, order, order);
  if (postordered) {
    const std::vector<index_t> post = postorder(elimination_tree(symmetrized(p.a, diagonal::drop)));
    p.a = permute(p.a, post, post);
    for (std::size_t k = 0; k < total.size(); ++k) total[k] = order[at(post[k])];
  }
  std::vector<index_t> rows(total.size());
  std::vector<index_t> columns(total.size());
  for (std::size_t k = 0; k < total.size(); ++k) {
    rows[k] = p.row_order[at(total[k])];
    columns[k] = p.col_order[at(total[k])];
  }
  p.row_order = std::move(rows);
  p.col_order = std::move(columns);
}

ordered_pattern match_and_order(pattern a, const prepare_options& options) {
  const index_t n = a.n_rows;
  ordered_pattern out;
  out.matching = match_diagonal(std::move(a), options.match);
  if (out.matching.structural_rank < n) return out;
  permuted_pattern& p = out.matching.matched;
  out.order = compute_order(p.a, options.order, options.seed);
  out.postordered = out.order.method != "natural";
  if (out.postordered) reorder(p, out.order.order, true);
  out.order.order.clear();
  return out;
}

}  // namespace gsofa
