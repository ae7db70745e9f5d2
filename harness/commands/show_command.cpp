#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "common/factor_profile.hpp"
#include "common/order_zero.hpp"
#include "common/ordering.hpp"
#include "common/variant.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"

namespace gsofa {

namespace {

struct show_options {
  std::string matrix;
  std::vector<std::string> orders{default_order};
  std::string match = "auto";
  bool preprocessing_given = false;
};

// A row of the table.
struct shown_order {
  std::string name;
  offset_t nnz_a = 0, nnz_l = 0, nnz_u = 0;
  double flops = 0;
  std::size_t supernodes = 0;
};

// A pattern in one order.
struct ordered_pattern {
  pattern a;
  std::string order;
};

ordered_pattern in_order(const matched_pattern& matched, const std::string& spec) {
  permuted_pattern p = matched.matched;
  const auto request = find_order(spec);
  if (request) {
    if (const auto why = request->info->unavailable()) {
      throw unavailable_error(request->info->name + ": " + *why);
    }
  }
  const ordering order = compute_order(p.a, spec, -1, this_machine().hardware_threads);
  // A file of a permutation is known by its path.
  const std::string name = request ? order.method : spec;
  reorder(p, order.order, name != "natural");
  return {std::move(p.a), name};
}

shown_order show_order(const ordered_pattern& p) {
  const variant_info& info = find_variant("cpu_bitmap_panels");
  run_settings settings = settings_with(info, want_set(want::counts) | want::supernodes);
  settings.threads = this_machine().hardware_threads;
  run_context context;
  const auto v = create_for(info, p.a.n_rows);
  v->prepare(p.a, settings, context);
  const result r = run_once(*v, settings.wants, context);
  shown_order shown{.name = p.order,
                    .nnz_a = p.a.nnz(),
                    .nnz_l = r.nnz_l,
                    .nnz_u = r.nnz_u,
                    .supernodes = r.supernode_starts.size()};
  const factor_profile profile = v->profile(1);
  for (std::size_t k = 0; k < at(p.a.n_rows); ++k) {
    const double l = profile.l_col_counts[k];
    shown.flops += l + 2 * l * (r.u_row_counts[k] - 1);
  }
  return shown;
}

text_table table_of(const std::vector<shown_order>& shown) {
  constexpr auto right = text_table::align::right;
  text_table t({{"order"},
                {"nnz(A)", right},
                {"nnz(L)", right},
                {"nnz(U)", right},
                {"fill-ins", right},
                {"operations", right},
                {"supernodes", right}});
  for (const shown_order& s : shown) {
    t.add({s.name, with_commas(s.nnz_a), with_commas(s.nnz_l), with_commas(s.nnz_u),
           with_commas(s.nnz_l + s.nnz_u - s.nnz_a), fmt::format("{:.3g}", s.flops),
           with_commas(static_cast<offset_t>(s.supernodes))});
  }
  return t;
}

// A prepared matrix has one order, and its file lacks A as it was read.
exit_code show_prepared(const show_options& o) {
  if (o.preprocessing_given) {
    throw input_error(o.matrix + ": is prepared already; --match and --order do not apply");
  }
  const prepared_pattern m = prepared_pattern::load(o.matrix);
  const pattern_view a = m.view();
  if (a.n_rows == 0) throw input_error(marked_name(m.origin()) + ": order 0, nothing to show");
  const ordered_pattern p{.a = {a.n_rows,
                                a.n_cols,
                                {a.row_ptr.begin(), a.row_ptr.end()},
                                {a.col_idx.begin(), a.col_idx.end()}},
                          .order = m.origin().order};
  table_of({show_order(p)}).print(std::cout);
  print_stand_in_note(m.origin());
  return exit_code::ok;
}

exit_code show(const show_options& o) {
  if (is_prepared(o.matrix)) return show_prepared(o);
  const raw_matrix m = read_matrix(o.matrix, needs_values(o.match));
  if (m.a.n_rows != m.a.n_cols) {
    throw input_error(
        fmt::format("{}: {} x {}, not square", marked_name(m.origin), m.a.n_rows, m.a.n_cols));
  }
  if (m.a.n_rows == 0) throw input_error(m.origin.name + ": order 0, nothing to show");
  const matched_pattern matched = match_diagonal(m.a, parse_match(o.match), m.values);
  if (matched.structural_rank < m.a.n_rows) {
    throw input_error(
        fmt::format("{}: structural rank {} of {}; --match none adds the missing "
                    "diagonal entries",
                    marked_name(m.origin), matched.structural_rank, m.a.n_rows));
  }
  std::vector<shown_order> shown;
  for (const std::string& spec : o.orders) shown.push_back(show_order(in_order(matched, spec)));
  table_of(shown).print(std::cout);
  print_stand_in_note(m.origin);
  return exit_code::ok;
}

}  // namespace

void add_show_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<show_options>();
  CLI::App* c = app.add_subcommand(
      "show", "Entries, fill-ins, operations and supernodes of a matrix in one order or several");
  c->add_option("matrix,-m,--matrix", o->matrix, "Matrix, as for `gsofa run`")
      ->required()
      ->type_name("M");
  c->add_option("--order", o->orders, "Orders, comma-separated, as for `gsofa order`")
      ->delimiter(',')
      ->capture_default_str();
  c->add_option("--match", o->match, "Matching, as for `gsofa run`")->capture_default_str();
  c->callback([o, c, &action] {
    o->preprocessing_given = c->count("--match") + c->count("--order") > 0;
    action = [o](const session_info&) { return root_only([&] { return show(*o); }); };
  });
}

}  // namespace gsofa
