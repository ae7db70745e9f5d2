#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/order_quality.hpp"
#include "common/ordering.hpp"
#include "common/partition_tree.hpp"
#include "common/random.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/record_file.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/status_line.hpp"
#include "reference/order_check.hpp"

namespace gsofa {

namespace {

struct order_options {
  matrix_options matrix;
  std::filesystem::path out;
  std::filesystem::path order_out;
  bool json = false;
  int repeat = 1;
  int threads = 0;
  int tree_levels = 0;
  std::uint64_t shuffle = 0;
};

// What became of one order.
struct order_case {
  std::string spec;
  const order_info* info = nullptr;  // null for the file of a permutation
  bool by_name = false;
  judgement judged{};
  std::vector<double> samples_s{}, samples_cpu_s{};
  std::map<std::string, double> phases_s{};  // of the last run
  ordering first{};                          // of the first run, which the others must repeat
  order_quality quality{};
  machine_state before{}, after{};
};

/// Sizes of a separator tree, which is not empty.
struct tree_sizes {
  index_t nodes = 0;
  index_t largest_separator = 0;  ///< of the nodes with children
  double path = 0;                ///< share of the vertices on the longest path of three levels
};

tree_sizes sizes_of(const ordering& o) {
  const separator_tree& t = o.separators;
  tree_sizes s{.nodes = static_cast<index_t>(t.parent.size())};
  for (const index_t p : t.parent) {
    if (p >= 0)
      s.largest_separator = std::max(s.largest_separator, t.start[at(p) + 1] - t.start[at(p)]);
  }
  const auto size = partition::binary_tree(o, 3, partition::tree_layout::nested).size;
  const index_t path = size[6] + std::max(size[4] + std::max(size[0], size[1]),
                                          size[5] + std::max(size[2], size[3]));
  s.path = static_cast<double>(path) / static_cast<double>(o.order.size());
  return s;
}

std::vector<order_case> plan_orders(const std::string& words) {
  std::vector<order_case> cases;
  for (const selected_order& o : select_orders({words})) {
    cases.push_back({.spec = o.spec, .info = o.info, .by_name = o.by_name});
  }
  return cases;
}

// Of a permutation: two orders with one digest are one order.
std::uint64_t digest_of(std::span<const index_t> order) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sum += entry_hash(static_cast<index_t>(k), order[k]);
  }
  return sum;
}

void compute_once(order_case& c, const pattern_view& a, const order_options& options, int threads) {
  if (c.info != nullptr) {
    if (const auto why = c.info->unavailable()) {
      c.judged = {run_status::skipped, *why};
      return;
    }
  }
  if (c.samples_s.empty()) c.before = current_state();
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  ordering o = compute_order(a, c.spec, options.matrix.seed, threads, nullptr, false, {},
                             options.tree_levels);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  c.samples_cpu_s.push_back(static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
  c.after = current_state();
  c.samples_s.push_back(seconds.count());
  c.phases_s = o.phases_s;
  if (c.samples_s.size() > 1) {
    if (o.order != c.first.order)
      c.judged = {run_status::fail, "another order than in the first run"};
    return;
  }
  c.first = std::move(o);
  const std::string fault = reference::fault_of_order(a, c.first);
  if (!fault.empty()) {
    c.judged = {run_status::fail, fault};
    return;
  }
  c.quality = quality_of(a, c.first.order, threads);
}

json order_record(const session_info& session, const raw_matrix& m, const matched_pattern& matched,
                  const order_case& c, const order_options& o, int threads) {
  json r = record_head(session, c.before, c.after);
  provenance p = m.origin;
  p.nnz_input = m.a.nnz();
  p.diagonal_added = matched.diagonal_added;
  r["kind"] = "order";
  r["matrix"] = matrix_json(matched.matched.a, p);
  r["match"] = matched.how;
  if (!matched.note.empty()) r["match_note"] = matched.note;
  r["shuffle"] = o.shuffle;
  if (o.tree_levels > 0) r["tree_levels"] = o.tree_levels;
  r["order"] = c.spec;
  r["library"] = c.first.library;
  r["seed"] = o.matrix.seed;
  r["threads"] = c.info != nullptr && c.info->multithreaded ? threads : 1;
  r["status"] = to_string(c.judged.status);
  r["reason"] = c.judged.reason;
  r["samples_s"] = c.samples_s;
  r["samples_cpu_s"] = c.samples_cpu_s;
  if (!c.first.method.empty()) r["method"] = c.first.method;
  if (!c.first.note.empty()) r["note"] = c.first.note;
  if (!c.first.why.empty()) r["why"] = c.first.why;
  if (!c.phases_s.empty()) r["phases_s"] = c.phases_s;
  for (const order_candidate& found : c.first.candidates) {
    r["candidates"].push_back(
        {{"order", found.order}, {"seed", found.seed}, {"flops", found.flops}});
  }
  if (c.judged.status != run_status::pass) return r;
  r["result"] = {{"nnz_l", c.quality.nnz_l},
                 {"nnz_u", c.quality.nnz_u},
                 {"fill", c.quality.nnz_l + c.quality.nnz_u - matched.matched.a.nnz()},
                 {"flops", c.quality.flops},
                 {"height", c.quality.height},
                 {"digest", fmt::format("{:016x}", digest_of(c.first.order))}};
  if (!c.first.separators.empty()) {
    const tree_sizes s = sizes_of(c.first);
    r["tree"] = {{"nodes", s.nodes}, {"largest_separator", s.largest_separator}, {"path", s.path}};
  }
  return r;
}

std::string note_of(const order_case& c) {
  std::string note = c.first.separators.empty() ? "" : "separators separate";
  if (c.info != nullptr && c.first.title() != c.spec) {
    note += (note.empty() ? "by " : ", by ") + c.first.title();
  }
  return note;
}

void print_orders(const std::vector<order_case>& cases) {
  using align = text_table::align;
  text_table table({{.title = "order"},
                    {.title = "status", .status = true},
                    {.title = "ms", .side = align::right},
                    {.title = "nnz(L+U)", .side = align::right},
                    {.title = "Gflop", .side = align::right, .leave_out = 1},
                    {.title = "height", .side = align::right, .leave_out = 2},
                    {.title = "separator", .side = align::right, .leave_out = 3},
                    {.title = "path", .side = align::right, .leave_out = 4},
                    {.title = "note", .words = true}});
  for (const order_case& c : cases) {
    if (c.judged.status != run_status::pass) {
      table.add({c.spec, to_string(c.judged.status), "", "", "", "", "", "", c.judged.reason});
      continue;
    }
    std::vector<double> samples = c.samples_s;
    std::ranges::sort(samples);
    const bool tree = !c.first.separators.empty();
    const tree_sizes s = tree ? sizes_of(c.first) : tree_sizes{};
    table.add({c.spec, to_string(c.judged.status), milliseconds(samples[(samples.size() - 1) / 2]),
               with_commas(c.quality.nnz_l + c.quality.nnz_u),
               fmt::format("{:.4g}", c.quality.flops / 1e9), with_commas(c.quality.height),
               tree ? with_commas(s.largest_separator) : "-",
               tree ? fmt::format("{:.3f}", s.path) : "-", note_of(c)});
  }
  table.print_fitting(std::cout);
  for (const order_case& c : cases) {
    if (!c.first.why.empty()) fmt::print("{} chose {}: {}\n", c.spec, c.first.title(), c.first.why);
  }
}

// A random permutation (Fisher & Yates), the same for a seed on every platform.
std::vector<index_t> random_numbering(index_t n, std::uint64_t seed) {
  std::vector<index_t> order(at(n));
  std::iota(order.begin(), order.end(), index_t{0});
  random_source random(seed);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  return order;
}

// The matrix with a zero-free diagonal, then renumbered as `o` says. Rows and columns are
// renumbered after the matching, whose choice among transversals depends on the numbering.
matched_pattern pattern_to_order(const raw_matrix& m, const order_options& o) {
  const std::string name = m.origin.stand_in ? marked_name(m.origin) : m.origin.source;
  if (m.a.n_rows != m.a.n_cols) {
    throw input_error(fmt::format("{}: the matrix is {} x {}; only square matrices have orders",
                                  name, m.a.n_rows, m.a.n_cols));
  }
  matched_pattern found = match_diagonal(m.a, parse_match(o.matrix.match), m.values);
  if (found.structural_rank < m.a.n_rows) {
    throw input_error(
        fmt::format("{}: structurally singular: structural rank {} of {} (--match none adds the "
                    "missing diagonal entries instead)",
                    name, found.structural_rank, m.a.n_rows));
  }
  if (o.shuffle != 0) {
    const std::vector<index_t> order = random_numbering(m.a.n_rows, o.shuffle);
    found.matched.a = permute(found.matched.a, order, order);
  }
  return found;
}

exit_code order_matrix(const order_options& o, const session_info& session) {
  if (is_prepared(o.matrix.matrix)) {
    throw input_error(o.matrix.matrix +
                      ": is ordered already; name the matrix that it was made from");
  }
  std::vector<order_case> cases = plan_orders(o.matrix.order);
  if (!o.order_out.empty() && (cases.size() != 1 || o.shuffle != 0)) {
    throw input_error(fmt::format(
        "--order-out: writes one order of the matrix as it is numbered, not {}",
        o.shuffle != 0 ? "that of --shuffle" : fmt::format("{}; --order names it", cases.size())));
  }
  std::optional<atomic_file> written;
  if (!o.order_out.empty()) written.emplace(o.order_out);
  std::optional<record_file> file;
  if (!o.out.empty()) file.emplace(o.out);
  const int threads = o.threads > 0 ? o.threads : this_machine().hardware_threads;
  const raw_matrix m = read_matrix(o.matrix.matrix, needs_values(parse_match(o.matrix.match)));
  const std::string name = marked_name(m.origin);
  const matched_pattern matched = pattern_to_order(m, o);
  for (int round = 0; round < o.repeat; ++round) {
    for (order_case& c : cases) {
      if (c.judged.status != run_status::pass) continue;
      {
        const auto begin = std::chrono::steady_clock::now();
        const status_line shown([&] {
          const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
          return fmt::format("[{}/{}] {} {}: {}", round + 1, o.repeat, name, c.spec,
                             duration_text(elapsed.count()));
        });
        compute_once(c, matched.matched.a, o, threads);
      }
      std::cerr << fmt::format("[{}/{}] {} {}: {}\n", round + 1, o.repeat, one_line(name),
                               one_line(c.spec),
                               c.samples_s.empty() ? one_line(c.judged.reason)
                                                   : milliseconds(c.samples_s.back()) + " ms");
    }
  }
  record_writer printed;
  bool failed = false;
  bool absent = false;  // an order that was named
  for (const order_case& c : cases) {
    failed = failed || c.judged.status == run_status::fail;
    absent = absent || (c.by_name && c.judged.status == run_status::skipped);
    const json r = order_record(session, m, matched, c, o, threads);
    if (file && c.judged.status != run_status::skipped) file->append(r);
    if (o.json) std::cout << printed.lines_of(r);
  }
  if (!o.json) {
    print_orders(cases);
    print_stand_in_note(m.origin);
  }
  if (written && cases.front().judged.status == run_status::pass) {
    written->write(lines_of(cases.front().first.order));
    written->commit();
  }
  if (failed) return exit_code::verification_failed;
  return absent ? exit_code::unavailable : exit_code::ok;
}

}  // namespace

void add_order_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<order_options>();
  CLI::App* c = app.add_subcommand(
      "order",
      "Compute orders of one matrix, check them and compare time, fill, operations, height and "
      "separators");
  o->matrix.add_to(*c);
  c->get_option("--order")->description(
      "Orders, comma-separated: names as for `gsofa run` (with options: NAME:key=value,...), "
      "patterns such as 'cpu_*', cpu, gpu or all");
  c->get_option("--order")->type_name("A,B,...");
  o->matrix.order = "all";
  c->get_option("--order")->capture_default_str();
  c->add_option("--repeat", o->repeat, "Runs of each order; the orders run alternately")
      ->check(CLI::Range(1, 1000))
      ->type_name("K")
      ->capture_default_str();
  c->add_option("--threads", o->threads,
                "Host threads of multithreaded orders; 0: all threads of this process")
      ->check(CLI::Range(0, 4096))
      ->type_name("T")
      ->capture_default_str();
  c->add_option("--tree", o->tree_levels,
                "Dissections divide the graph evenly on this many levels of their separator tree; "
                "0: as the order alone needs it")
      ->check(CLI::Range(0, partition::most_levels))
      ->type_name("LEVELS")
      ->capture_default_str();
  c->add_option("--shuffle", o->shuffle,
                "Renumber rows and columns alike at random with this seed before ordering; 0: keep "
                "the numbering")
      ->check(CLI::NonNegativeNumber)
      ->type_name("S")
      ->capture_default_str();
  c->add_option("--out", o->out, "Append a record of each order to this file, one line each")
      ->check(is_an_output())
      ->type_name("FILE.jsonl");
  add_order_out(*c, o->order_out);
  c->add_flag("--json", o->json, "Print only the records, one line each");
  std::string methods = "Orders:\n";
  for (const order_info& i : all_orders()) {
    if (!i.planted.empty()) continue;
    methods += fmt::format("  {:<24}{}{}\n", i.name, i.summary,
                           i.library.empty() ? "" : " (" + i.library + ")");
    for (const option_spec& s : i.options) {
      methods +=
          fmt::format("  {:<24}  {}={}: {}\n", "", s.name, to_string(s.default_value), s.help);
    }
  }
  c->footer(
      methods +
      "Exit status: 0 all well, 1 an order or a separator tree is wrong, 2 bad input, 3 an order "
      "that was named is unavailable on this machine.\n");
  c->callback([o, &action] {
    action = [o](const session_info& session) {
      return root_only([&] { return order_matrix(*o, session); });
    };
  });
}

}  // namespace gsofa
