#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "common/file.hpp"
#include "common/order_zero.hpp"
#include "common/ordering.hpp"
#include "common/variant.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/picture.hpp"
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
  std::filesystem::path out;
  index_t cells = 480;
  bool supernodes = true;
  bool preprocessing_given = false;
};

std::string kind_of(const std::filesystem::path& file) {
  const std::string kind = file.extension().string();
  if (kind != ".png" && kind != ".svg" && kind != ".html") {
    throw input_error(file.string() + ": pictures are .svg, .html or .png");
  }
  return kind;
}

// What the table below the picture says of one order.
struct shown_order {
  std::string name;
  offset_t nnz_a = 0, nnz_l = 0, nnz_u = 0;
  double flops = 0;
  std::size_t supernodes = 0;
};

// A pattern in the order that is drawn.
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

// A permuted, and L + U, of one order.
shown_order show_order(const ordered_pattern& p, const show_options& o,
                       std::vector<drawn_pattern>& drawn) {
  const std::string& name = p.order;
  const index_t n = p.a.n_rows;
  const index_t cells = std::min(o.cells, n);
  const variant_info& info = find_variant("cpu_bitmap_panels");
  run_settings settings;
  settings.options = option_set(info.options);
  settings.wants = want_set(want::counts) | want::supernodes;
  settings.threads = this_machine().hardware_threads;
  run_context context;
  const auto v = create_for(info, n);
  v->prepare(p.a, settings, context);
  const result r = run_once(*v, settings.wants, context);
  const factor_profile profile = v->profile(cells);
  shown_order shown{.name = name,
                    .nnz_a = p.a.nnz(),
                    .nnz_l = r.nnz_l,
                    .nnz_u = r.nnz_u,
                    .supernodes = r.supernode_starts.size()};
  for (std::size_t k = 0; k < at(n); ++k) {
    const double l = profile.l_col_counts[k];
    shown.flops += l + 2 * l * (r.u_row_counts[k] - 1);
  }
  const std::vector<offset_t> entries = density_of(p.a, cells);
  if (o.orders.size() == 1) {
    drawn.push_back({.n = n,
                     .image = picture_of(n, cells, entries, {}),
                     .title = {"A, rows and columns permuted", ""}});
  }
  const offset_t nnz = r.nnz_l + r.nnz_u;
  const offset_t fill = nnz - p.a.nnz();
  drawn_pattern both{
      .n = n,
      .image = picture_of(n, cells, entries, profile.density),
      .title = {fmt::format("L + U, {}: {} entries", name, with_commas(nnz)),
                fmt::format("fill-ins {}, {:.2f} times A", with_commas(fill),
                            static_cast<double>(fill) /
                                static_cast<double>(std::max<offset_t>(p.a.nnz(), 1)))}};
  if (o.supernodes) both.supernode_starts = r.supernode_starts;
  drawn.push_back(std::move(both));
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

std::string content_of(const std::vector<drawn_pattern>& drawn, const std::string& kind) {
  if (kind == ".png") return png_of(side_by_side(drawn));
  const std::string svg = svg_of(drawn);
  if (kind == ".svg") return svg;
  return "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>gsofa show</title><style>"
         "body{margin:2em;background:#fff;color:#111}svg{max-width:100%;height:auto}</style>\n" +
         svg + "</html>\n";
}

exit_code finish(const show_options& o, const std::string& kind,
                 const std::vector<drawn_pattern>& drawn, const std::vector<shown_order>& shown,
                 const provenance& origin, atomic_file& file) {
  file.write(content_of(drawn, kind));
  file.commit();
  table_of(shown).print(std::cout);
  print_stand_in_note(origin);
  std::cout << one_line(o.out.string() + " written") << '\n';
  return exit_code::ok;
}

// A matrix that is ordered already has one order, and its file lacks A as it was read.
exit_code show_prepared(const show_options& o, const std::string& kind, atomic_file& file) {
  const prepared_pattern m = prepared_pattern::load(o.matrix);
  const pattern_view a = m.view();
  if (a.n_rows == 0) throw input_error(marked_name(m.origin()) + ": order 0, nothing to draw");
  std::vector<drawn_pattern> drawn;
  const std::vector<shown_order> shown{show_order({.a = {a.n_rows,
                                                         a.n_cols,
                                                         {a.row_ptr.begin(), a.row_ptr.end()},
                                                         {a.col_idx.begin(), a.col_idx.end()}},
                                                   .order = m.origin().order},
                                                  o, drawn)};
  drawn.front().title = {
      fmt::format("{}, prepared: order {}", marked_name(m.origin()), with_commas(a.n_rows)),
      fmt::format("{} entries", with_commas(a.nnz()))};
  return finish(o, kind, drawn, shown, m.origin(), file);
}

exit_code show(const show_options& o) {
  const std::string kind = kind_of(o.out);
  constexpr std::size_t most = 4;
  if (o.orders.size() > most) {
    throw input_error(fmt::format("--order: at most {} orders fit side by side", most));
  }
  atomic_file file(o.out);
  if (is_prepared(o.matrix)) {
    if (o.preprocessing_given) {
      throw input_error(o.matrix + ": is prepared already; --match and --order do not apply");
    }
    return show_prepared(o, kind, file);
  }
  const raw_matrix m = read_matrix(o.matrix);
  if (m.a.n_rows != m.a.n_cols) {
    throw input_error(
        fmt::format("{}: {} x {}, not square", marked_name(m.origin), m.a.n_rows, m.a.n_cols));
  }
  if (m.a.n_rows == 0) {
    throw input_error(m.origin.name + ": the order is 0, so there is nothing to draw");
  }
  const matched_pattern matched =
      match_diagonal(m.a, o.match == "none" ? match_mode::none : match_mode::automatic);
  if (matched.structural_rank < m.a.n_rows) {
    throw input_error(
        fmt::format("{}: structural rank {} of {}; --match none adds the missing "
                    "diagonal entries",
                    marked_name(m.origin), matched.structural_rank, m.a.n_rows));
  }
  const index_t cells = std::min(o.cells, m.a.n_rows);
  std::vector<drawn_pattern> drawn;
  if (o.orders.size() == 1) {
    drawn.push_back(
        {.n = m.a.n_rows,
         .image = picture_of(m.a.n_rows, cells, density_of(m.a, cells), {}),
         .title = {fmt::format("{}: order {}", marked_name(m.origin), with_commas(m.a.n_rows)),
                   fmt::format("{} entries", with_commas(m.a.nnz()))}});
  }
  std::vector<shown_order> shown;
  for (const std::string& spec : o.orders) {
    shown.push_back(show_order(in_order(matched, spec), o, drawn));
  }
  return finish(o, kind, drawn, shown, m.origin, file);
}

}  // namespace

void add_show_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<show_options>();
  CLI::App* c = app.add_subcommand(
      "show", "Draw the pattern of a matrix and of its L + U in one order or several");
  c->add_option("matrix,-m,--matrix", o->matrix, "Matrix, as for `gsofa run`")
      ->required()
      ->type_name("M");
  c->add_option("--order", o->orders, "At most four orders, comma-separated, as for `gsofa order`")
      ->delimiter(',')
      ->capture_default_str();
  c->add_option("--match", o->match, "Matching, as for `gsofa run`")
      ->check(CLI::IsMember({"auto", "none"}))
      ->capture_default_str();
  c->add_option("-o,--out", o->out, "File to write: .svg, .html, or .png (without text)")
      ->check(is_an_output())
      ->required()
      ->type_name("FILE");
  c->add_option("--cells", o->cells, "Maximum number of cells of a picture in each direction")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  c->add_flag("!--no-supernodes", o->supernodes, "Do not draw the squares of supernodes");
  c->callback([o, c, &action] {
    o->preprocessing_given = c->count("--match") + c->count("--order") > 0;
    action = [o](const session_info&) { return root_only([&] { return show(*o); }); };
  });
}

}  // namespace gsofa
