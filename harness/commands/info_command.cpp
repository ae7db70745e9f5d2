#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "common/generators.hpp"
#include "common/order_zero.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/status.hpp"
#include "harness/run/verifier.hpp"

namespace gsofa {

namespace {

struct degree_range {
  offset_t least = 0, largest = 0;
  double mean = 0;
};

degree_range row_degrees(const pattern_view& a) {
  degree_range d;
  if (a.n_rows == 0) return d;
  d.least = static_cast<offset_t>(a.row(0).size());
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto size = static_cast<offset_t>(a.row(i).size());
    d.least = std::min(d.least, size);
    d.largest = std::max(d.largest, size);
  }
  d.mean = static_cast<double>(a.nnz()) / static_cast<double>(a.n_rows);
  return d;
}

json degrees_json(const degree_range& d) {
  return {{"min", d.least}, {"mean", d.mean}, {"max", d.largest}};
}

// Fill of the prepared pattern, by the trusted variant.
json fill_json(const prepared_pattern& a) {
  json j = json::object();
  const auto& variants = all_variants();
  const auto info = std::ranges::find(variants, trusted_variant, &variant_info::name);
  if (info == variants.end()) return j;
  run_context context;
  const auto v = create_for(*info, a.view().n_rows);
  run_settings settings = settings_with(*info, want::counts);
  v->prepare(a.view(), settings, context);
  const result r = run_once(*v, settings.wants, context);
  const offset_t fill = r.nnz_l + r.nnz_u - a.view().nnz();
  j["nnz_l"] = r.nnz_l;
  j["nnz_u"] = r.nnz_u;
  j["fill"] = fill;
  // As in the paper's table of datasets: fill-ins over the nonzeros of A.
  j["fill_ratio"] =
      static_cast<double>(fill) / static_cast<double>(std::max<offset_t>(1, a.origin().nnz_input));
  return j;
}

json info_json(const matrix_options& options, bool with_fill) {
  json j;
  pattern owned;
  pattern_view a;
  prepared_pattern prepared;
  provenance origin;
  std::vector<double> values;
  json header = json::object();
  const bool ready = is_prepared(options.matrix);
  if (ready) {
    prepared = options.load();
    a = prepared.view();
    origin = prepared.origin();
  } else {
    raw_matrix m = read_matrix(options.matrix, needs_values(parse_match(options.match)));
    values = std::move(m.values);
    owned = std::move(m.a);
    a = owned.view();
    origin = m.origin;
    if (m.header) {
      header = {{"format", name_of(m.header->format)},
                {"field", m.header->field},
                {"symmetry", m.header->symmetry}};
    }
  }
  j["name"] = origin.name;
  j["source"] = origin.source;
  j["stand_in"] = origin.stand_in;
  j["sha256"] = origin.sha256;
  j["prepared"] = ready;
  j["header"] = header;
  j["n_rows"] = a.n_rows;
  j["n_cols"] = a.n_cols;
  j["nnz"] = a.nnz();
  j["row_degree"] = degrees_json(row_degrees(a));
  j["col_degree"] = degrees_json(row_degrees(transpose(a)));
  if (a.n_rows != a.n_cols) return j;
  j["structural_symmetry"] = structural_symmetry(a);
  j["zero_diagonal"] = count_missing_diagonal(a);
  index_t rank = a.n_rows;
  try {
    rank = maximum_transversal(a).structural_rank;
    j["structural_rank"] = rank;
    if (rank == a.n_rows && a.n_rows > 0) {
      const auto blocks = block_triangular_form(a);
      j["btf_blocks"] = blocks.blocks;
      j["btf_largest"] = blocks.largest;
    }
  } catch (const unavailable_error& e) {
    j["left_out"] = e.what();
  }
  const bool singular = rank < a.n_rows && options.match != match_none;
  if (!with_fill || (singular && !ready)) return j;
  if (!ready) prepared = prepare(owned, options.preparation(), origin, values);
  j["match"] = prepared.origin().match;
  j["order"] = prepared.origin().order;
  j["order_library"] = prepared.origin().order_library;
  j["nnz_prepared"] = prepared.view().nnz();
  j["prepare_seconds"] = prepared.origin().prepare_seconds;
  j["prepared_digest"] = hex(prepared.digest());
  j.update(fill_json(prepared));
  return j;
}

void print_info(std::ostream& out, const json& j) {
  auto line = [&](const char* label, const std::string& value) {
    out << fmt::format("{:<22}{}\n", label, one_line(value));
  };
  auto whole = [&](const char* key) { return with_commas(j.at(key).get<long long>()); };
  auto degrees = [&](const char* key) {
    const json& d = j.at(key);
    return fmt::format("{} / {:.2f} / {}", d.at("min").get<long long>(), d.at("mean").get<double>(),
                       d.at("max").get<long long>());
  };
  line("name",
       j.at("name").get<std::string>() + (j.at("stand_in").get<bool>() ? " (stand-in)" : ""));
  line("source", j.at("source").get<std::string>());
  if (!j.at("header").empty()) {
    line("file", j.at("header").at("format").get<std::string>() + ", " +
                     j.at("header").at("field").get<std::string>() + " " +
                     j.at("header").at("symmetry").get<std::string>());
  }
  line("order", j.at("n_rows") == j.at("n_cols") ? whole("n_rows")
                                                 : whole("n_rows") + " x " + whole("n_cols"));
  line("nonzeros", whole("nnz"));
  line("row degree", degrees("row_degree") + "  (min / mean / max)");
  line("column degree", degrees("col_degree") + "  (min / mean / max)");
  if (!j.contains("structural_symmetry")) return;
  line("structural symmetry", fmt::format("{:.3f}", j.at("structural_symmetry").get<double>()));
  if (j.contains("structural_rank")) {
    line("structural rank", whole("structural_rank") +
                                (j.at("structural_rank") == j.at("n_rows") ? "" : " (singular)"));
  }
  if (j.contains("left_out")) line("left out", j.at("left_out").get<std::string>());
  line("zero diagonal", whole("zero_diagonal"));
  if (j.contains("btf_blocks")) {
    line("BTF blocks", fmt::format("{}, largest {}", whole("btf_blocks"), whole("btf_largest")));
  }
  if (!j.contains("order")) return;
  const auto library = j.at("order_library").get<std::string>();
  line("match, order",
       fmt::format("{}, {}{}", j.at("match").get<std::string>(), j.at("order").get<std::string>(),
                   library.empty() ? "" : " (" + library + ")"));
  if (!j.contains("fill")) return;
  line("nnz_l, nnz_u", whole("nnz_l") + ", " + whole("nnz_u"));
  line("fill", fmt::format("{} ({:.2f} times the nonzeros)", whole("fill"),
                           j.at("fill_ratio").get<double>()));
}

}  // namespace

void add_info_command(CLI::App& app, command_action& action) {
  struct options {
    matrix_options matrix;
    bool json = false;
    bool no_fill = false;
  };
  auto o = std::make_shared<options>();
  CLI::App* c = app.add_subcommand(
      "info",
      "Show order, nonzeros, symmetry, structural rank, degrees, BTF blocks and fill of a matrix");
  o->matrix.add_to(*c);
  c->add_flag("--json", o->json, "Print one JSON object");
  c->add_flag("--no-fill", o->no_fill, "Neither order the matrix nor compute its fill");
  std::string families = "Generated matrices, gen:NAME:key=value,key=value (keys with defaults):\n";
  for (const auto& g : generators()) {
    families += fmt::format("  {:<14}{}\n{:16}{}\n", g.name, g.summary, "", g.parameters);
  }
  c->footer(families + "gen:exchanged_rows:NAME:...: the rows of gen:NAME:... in a random order\n");
  c->callback([o, c, &action] {
    o->matrix.note_given(*c);
    action = [o](const session_info&) {
      return root_only([&] {
        const json j = info_json(o->matrix, !o->no_fill);
        if (o->json) {
          std::cout << j.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
        } else {
          print_info(std::cout, j);
        }
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
