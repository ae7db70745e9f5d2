#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
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
#include "reference/row_union.hpp"
#include "reference/verify_result.hpp"

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

bool judge_factors(const pattern_view& a, const judge_pattern_options& o) {
  factor_patterns f = read_factors(o.l, o.u, a.n_rows);
  result r;
  r.nnz_l = f.l.nnz();
  r.nnz_u = f.u.nnz();
  r.l = std::move(f.l);
  r.u = std::move(f.u);
  reference::verdict v = reference::check_structure(r.l, r.u, a.n_rows);
  if (v.ok) {
    v = reference::check_certificate(a, r.l, r.u, this_machine().hardware_threads);
    // The certificate says that an entry is wrong; the fill itself says which.
    using reference::row_union, reference::make_truth;
    if (!v.ok) v = reference::compare(make_truth(row_union(a)), r, want::pattern, 0);
  }
  verdict_on(o.u.empty() ? "L and its transpose" : "L and U", v.reason);
  std::cout << (v.ok ? fmt::format("nnz_l {}, nnz_u {}, fill {}\n", with_commas(r.nnz_l),
                                   with_commas(r.nnz_u), with_commas(r.nnz_l + r.nnz_u - a.nnz()))
                     : explain_entry(a, v.reason));
  return v.ok;
}

// Whether a file lists numbers in one of several forms; if not, where it leaves the form that it
// follows for longest.
bool judge_list(const std::string& what, const std::string& file, std::span<const integers> forms) {
  std::size_t most = 0;
  for (const integers& form : forms) most = std::max(most, form.size());
  const number_list found = read_numbers(file, most);
  std::size_t length = 0;
  const integers* nearest = forms.data();
  for (const integers& form : forms) {
    if (found.values == form) return verdict_on(what, "");
    const auto same = std::ranges::mismatch(found.values, form).in1 - found.values.begin();
    if (static_cast<std::size_t>(same) <= length) continue;
    length = static_cast<std::size_t>(same);
    nearest = &form;
  }
  if (length == found.values.size() || length == nearest->size()) {
    return verdict_on(what, fmt::format("{}: {} numbers instead of {}", file, found.values.size(),
                                        nearest->size()));
  }
  return verdict_on(what, fmt::format("{}: {} instead of {}", found.place(length),
                                      found.values[length], (*nearest)[length]));
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
