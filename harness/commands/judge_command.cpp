#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <tuple>

#include "common/order_zero.hpp"
#include "common/permutation_file.hpp"
#include "harness/check/fill_path.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/programs.hpp"
#include "reference/certificate.hpp"

namespace gsofa {

namespace {

struct judge_pattern_options {
  std::string matrix, l, u, perm, row_perm, counts, supernodes, tree;
  bool inverse = false;
};

using integers = std::vector<std::int64_t>;

// The matrix in the order of its factors, with its whole diagonal.
pattern matrix_in_order(const judge_pattern_options& o) {
  const pattern a = read_matrix(o.matrix).a;
  if (a.n_rows != a.n_cols) {
    throw input_error(fmt::format("{}: {} x {}, not square", o.matrix, a.n_rows, a.n_cols));
  }
  auto order_in = [&](const std::string& file) {
    return file.empty() ? identity_order(a.n_rows)
                        : read_permutation_file(file, a.n_rows, o.inverse).order;
  };
  const std::vector<index_t> columns = order_in(o.perm);
  return with_diagonal(permute(a, o.row_perm.empty() ? columns : order_in(o.row_perm), columns));
}

result counts_and_supernodes(const pattern_view& a) {
  const variant_info& info = find_variant("cpu_bitmap_panels");
  run_settings settings = settings_with(info, want_set(want::counts) | want::supernodes);
  settings.threads = this_machine().hardware_threads;
  settings.chunk_size = 0;
  run_context context;
  const auto v = create_for(info, a.n_rows);
  v->prepare(a, settings, context);
  return run_once(*v, settings.wants, context);
}

// Prints a verdict; `why` says what is wrong. Returns whether nothing is.
bool verdict_on(const std::string& what, const std::string& why) {
  std::cout << one_line(what + (why.empty() ? ": right" : ": WRONG: " + why)) << '\n';
  return why.empty();
}

// The first wrong entry of row i. The rows above are right, so their unions give this row.
std::string wrong_entry(const pattern_view& a, const factor_patterns& f, index_t i) {
  std::set<index_t> right(a.row(i).begin(), a.row(i).end());
  for (auto k = right.begin(); *k < i; ++k) right.insert(f.u.row(*k).begin(), f.u.row(*k).end());
  std::set<index_t> found(f.l.row(i).begin(), f.l.row(i).end());
  found.insert(f.u.row(i).begin(), f.u.row(i).end());
  std::vector<index_t> wrong;
  std::ranges::set_symmetric_difference(right, found, std::back_inserter(wrong));
  return fmt::format("({},{}) is {}", i, wrong.front(),
                     right.contains(wrong.front()) ? "missing" : "not in the fill");
}

bool judge_factors(const pattern_view& a, const judge_pattern_options& o) {
  const factor_patterns f = read_factors(o.l, o.u, a.n_rows);
  const auto v = reference::check_certificate(a, f.l, f.u, this_machine().hardware_threads);
  const std::string why = v.row < 0 ? v.reason : wrong_entry(a, f, v.row);
  verdict_on(o.u.empty() ? "L and its transpose" : "L and U", why);
  const offset_t l = f.l.nnz();
  const offset_t u = f.u.nnz();
  std::cout << (v.ok ? fmt::format("nnz_l {}, nnz_u {}, fill {}\n", with_commas(l), with_commas(u),
                                   with_commas(l + u - a.nnz()))
                     : explain_entry(a, why));
  return v.ok;
}

// Whether a file lists numbers in one of several forms; if not, where it leaves the form that it
// follows for longest.
bool judge_list(const std::string& what, const std::string& file, std::span<const integers> forms) {
  const number_list found = read_numbers(file, std::ranges::max(forms, {}, &integers::size).size());
  const integers& v = found.values;
  auto agreed = [&](const integers& form) {
    return static_cast<std::size_t>(std::ranges::mismatch(v, form).in1 - v.begin());
  };
  const integers& form = *std::ranges::max_element(forms, {}, agreed);
  const std::size_t k = agreed(form);
  std::string why;
  if (k < std::min(v.size(), form.size())) {
    why = fmt::format("{}: {} instead of {}", found.place(k), v[k], form[k]);
  } else if (v.size() != form.size()) {
    why = fmt::format("{}: {} numbers instead of {}", file, v.size(), form.size());
  }
  return verdict_on(what, why);
}

integers plus_one(integers list) {
  for (std::int64_t& x : list) ++x;
  return list;
}

exit_code judge_pattern(const judge_pattern_options& o) {
  if (o.l.empty() && o.counts.empty() && o.supernodes.empty() && o.tree.empty()) {
    throw input_error("judge pattern: names neither L and U nor another file to judge");
  }
  const pattern a = matrix_in_order(o);
  bool well = o.l.empty() || judge_factors(a, o);
  result r;
  if (!o.counts.empty() || !o.supernodes.empty()) r = counts_and_supernodes(a);
  if (!o.counts.empty()) {
    const integers of_u(r.u_row_counts.begin(), r.u_row_counts.end());
    integers both;
    for (std::size_t i = 0; i < of_u.size(); ++i) {
      both.insert(both.end(), {r.l_row_counts[i], of_u[i]});
    }
    well = judge_list("row counts", o.counts, std::vector{of_u, both}) && well;
  }
  if (!o.supernodes.empty()) {
    const integers first(r.supernode_starts.begin(), r.supernode_starts.end());
    well = judge_list("supernodes", o.supernodes, std::vector{first, plus_one(first)}) && well;
  }
  if (!o.tree.empty()) {
    const std::vector<index_t> tree = elimination_tree(symmetrized(a, diagonal::drop));
    const integers parent(tree.begin(), tree.end());
    integers roots_n = parent;
    std::ranges::replace(roots_n, -1, a.n_rows);
    well = judge_list("elimination tree of A + A^T", o.tree,
                      std::vector{parent, roots_n, plus_one(parent)}) &&
           well;
  }
  return well ? exit_code::ok : exit_code::verification_failed;
}

void add_judge_pattern(CLI::App& judge, command_action& action) {
  auto o = std::make_shared<judge_pattern_options>();
  CLI::App* c = judge.add_subcommand(
      "pattern", "Tell whether L and U, their counts, supernodes or tree are those of a matrix");
  c->add_option("matrix", o->matrix, "Matrix, as for `gsofa run`; its rows are not matched")
      ->required();
  c->add_option("L", o->l, "Pattern of L, in any format of a matrix; its diagonal is ignored");
  c->add_option("U", o->u, "Pattern of U with the diagonal; absent: the transpose of L");
  const std::tuple<const char*, std::string*, const char*> files[] = {
      {"--perm", &o->perm, "Order of columns, and of rows without --row-perm: a permutation file"},
      {"--row-perm", &o->row_perm, "Order of rows"},
      {"--counts", &o->counts,
       "For each row entries of L below the diagonal and of U with it, or those of U alone"},
      {"--supernodes", &o->supernodes, "First rows of the T3 supernodes, from 0 or 1"},
      {"--tree", &o->tree,
       "Parents in the elimination tree of A + A^T: from 0 with -1 or n for roots, or from 1 with "
       "0 for roots"}};
  for (const auto& [name, file, help] : files) {
    c->add_option(name, *file, help)->type_name("FILE");
  }
  c->add_flag("--inverse", o->inverse, "Permutations hold the new number by old position");
  c->footer("Exit status: 0 all is right, 1 something is wrong, 2 bad input.\n");
  c->callback([o, &action] {
    action = [o](const session_info&) { return root_only([&] { return judge_pattern(*o); }); };
  });
}

}  // namespace

void add_judge_command(CLI::App& app, command_action& action) {
  CLI::App* c = app.add_subcommand("judge", "Judge what another program computed");
  add_judge_order(*c, action);
  add_judge_pattern(*c, action);
  c->callback([c] {
    if (c->get_subcommands().empty()) {
      throw CLI::ValidationError("judge", "names what to judge: order or pattern");
    }
  });
}

}  // namespace gsofa
