#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/command_methods.hpp"
#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/order_quality.hpp"
#include "common/partition_tree.hpp"
#include "common/permutation_file.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/best_orders.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/record_file.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/status_line.hpp"
#include "reference/order_check.hpp"
#include "variants/orderings/choose.hpp"

namespace gsofa {

namespace {

// What `order` and `judge order` do with one matrix.
struct order_options {
  matrix_options matrix{};
  std::vector<std::string> judged{};  // orders and files that are compared with matrix.order
  std::filesystem::path out{};        // append records; empty: do not
  std::filesystem::path order_out{};  // write the order; empty: do not
  bool json = false;                  // records on stdout, and nothing else
  bool inverse = false;               // files of permutations hold new numbers by old position
  int repeat = 1;
  int threads = 0;            // 0: all of this process
  int tree_levels = 0;        // order_settings::tree_levels
  std::uint64_t shuffle = 0;  // seed of a renumbering; 0: none
};

// An order and what became of it.
struct order_case {
  std::string spec;
  const order_info* info = nullptr;  // null for the file of a permutation
  bool by_name = false;
  bool is_judged = false;
  judgement judged{};
  std::vector<double> samples_s{}, samples_cpu_s{};
  std::map<std::string, double> phases_s{};  // of the last run
  ordering first{};                          // of the first run, which the others must repeat
  permutation_file given{};                  // of a file
  order_quality quality{};
  double other_flops = 0;  // of a file that is judged, read the other way
  machine_state before{}, after{};
};

// Sizes of a separator tree, which is not empty.
struct tree_sizes {
  index_t nodes = 0;
  index_t largest_separator = 0;  // of the nodes with children
  double path = 0;                // share of the vertices on the longest path of three levels
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

// Of a permutation: two orders with one digest are one order.
std::uint64_t digest_of(std::span<const index_t> order) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sum += entry_hash(static_cast<index_t>(k), order[k]);
  }
  return sum;
}

ordering order_of(const order_case& c, const pattern_view& a, const order_options& options,
                  int threads) {
  if (c.info == nullptr) return {c.given.order, "file", c.spec};
  return compute_order(a, c.spec, options.matrix.seed, threads, nullptr, false, {},
                       options.tree_levels);
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
  ordering o;
  try {
    o = order_of(c, a, options, threads);
  } catch (const error& e) {
    const bool is_late = dynamic_cast<const timeout_error*>(&e) != nullptr;
    c.judged = {is_late ? run_status::timeout : run_status::error, one_line(e.what())};
    return;
  }
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
  if (c.info != nullptr || !c.is_judged) return;
  std::vector<index_t> other(c.first.order.size());
  for (std::size_t k = 0; k < other.size(); ++k)
    other[at(c.first.order[k])] = static_cast<index_t>(k);
  c.other_flops = quality_of(a, other, threads).flops;
}

// Of one factorization in the order.
double modelled_seconds(const order_case& c, orders::factorization_kind kind) {
  const order_quality& q = c.quality;
  const auto n = static_cast<offset_t>(c.first.order.size());
  return orders::seconds_of_use(
      {.operations = q.flops, .entries = q.nnz_l + q.nnz_u - n, .height = q.height},
      {.kind = kind});
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
  if (c.info == nullptr) r["form"] = c.given.form;
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
                 {"critical_path", c.quality.critical_path},
                 {"largest_front", c.quality.largest_front},
                 {"peak_entries", c.quality.peak_entries},
                 {"digest", fmt::format("{:016x}", digest_of(c.first.order))}};
  r["modelled_s"] = {{"core", modelled_seconds(c, orders::factorization_kind::left_looking)},
                     {"gpu", modelled_seconds(c, orders::factorization_kind::gpu)}};
  if (!c.first.separators.empty()) {
    const tree_sizes s = sizes_of(c.first);
    r["tree"] = {{"nodes", s.nodes}, {"largest_separator", s.largest_separator}, {"path", s.path}};
  }
  return r;
}

// The matrix with a zero-free diagonal, then renumbered as `o` says. Rows and columns are
// renumbered after the matching, whose choice among transversals depends on the numbering.
matched_pattern pattern_to_order(const raw_matrix& m, const order_options& o) {
  const std::string name = m.origin.stand_in ? marked_name(m.origin) : m.origin.source;
  if (m.a.n_rows != m.a.n_cols) {
    throw input_error(fmt::format("{}: the matrix is {} x {}; only square matrices have orders",
                                  name, m.a.n_rows, m.a.n_cols));
  }
  matched_pattern found =
      match_diagonal(m.a, parse_match(o.matrix.match), m.values,
                     o.threads > 0 ? o.threads : this_machine().hardware_threads);
  if (found.structural_rank < m.a.n_rows) {
    throw input_error(
        fmt::format("{}: structurally singular: structural rank {} of {} (--match none adds the "
                    "missing diagonal entries instead)",
                    name, found.structural_rank, m.a.n_rows));
  }
  if (o.shuffle != 0) {
    const std::vector<index_t> order = random_order(m.a.n_rows, o.shuffle);
    found.matched.a = permute(found.matched.a, order, order);
  }
  return found;
}

std::string note_of(const order_case& c) {
  std::string note = c.first.separators.empty() ? "" : "separators separate";
  if (c.info != nullptr && c.first.title() != c.spec) {
    note += (note.empty() ? "by " : ", by ") + c.first.title();
  }
  if (c.phases_s.contains("reported")) {
    note += "the program reports " + milliseconds(c.phases_s.at("reported")) + " ms";
  }
  return note;
}

// What columns of the table say, those that are compared.
std::vector<double> costs_of(const order_case& c) {
  using orders::factorization_kind;
  return {static_cast<double>(c.quality.nnz_l + c.quality.nnz_u),
          c.quality.flops / 1e9,
          static_cast<double>(c.quality.height),
          c.quality.critical_path / 1e9,
          static_cast<double>(c.quality.largest_front),
          8e-6 * static_cast<double>(c.quality.peak_entries),
          1e3 * modelled_seconds(c, factorization_kind::left_looking),
          1e3 * modelled_seconds(c, factorization_kind::gpu)};
}

std::vector<std::string> row_of(const order_case& c) {
  std::vector<std::string> row = {c.spec, to_string(c.judged.status)};
  if (c.judged.status != run_status::pass) {
    row.resize(14);
    row.back() = c.judged.reason;
    return row;
  }
  std::vector<double> samples = c.samples_s;
  std::ranges::sort(samples);
  row.push_back(c.info == nullptr ? "-" : milliseconds(samples[(samples.size() - 1) / 2]));
  for (const double cost : costs_of(c)) {
    const bool whole = cost == std::floor(cost) && cost < 1e15;
    row.push_back(whole ? with_commas(std::llround(cost)) : fmt::format("{:.4g}", cost));
  }
  const bool tree = !c.first.separators.empty();
  const tree_sizes s = tree ? sizes_of(c.first) : tree_sizes{};
  row.push_back(tree ? with_commas(s.largest_separator) : "-");
  row.push_back(tree ? fmt::format("{:.3f}", s.path) : "-");
  row.push_back(note_of(c));
  return row;
}

std::vector<std::string> ratios_of(const order_case& c, const order_case& base) {
  std::vector<std::string> row = {"/ " + base.spec, "", ""};
  const std::vector<double> mine = costs_of(c);
  const std::vector<double> its = costs_of(base);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    row.push_back(its[k] > 0 ? fmt::format("{:.3g}", mine[k] / its[k]) : "-");
  }
  row.resize(14);
  return row;
}

// Next to orders that are judged: the best known order of the matrix, if its file is here.
void add_best_known(std::vector<order_case>& cases, const order_options& o, const provenance& from,
                    index_t n) {
  if (o.judged.empty() || o.matrix.match != match_auto) return;
  const auto best = best_known_order(from.sha256);
  if (!best || best->file.empty()) return;
  cases.push_back({.spec = "best known", .given = read_permutation_file(best->file.string(), n)});
}

void print_best_known(const std::vector<order_case>& cases, const order_options& o,
                      const provenance& from) {
  const auto best = best_known_order(from.sha256);
  if (!best || o.matrix.match != match_auto) return;
  for (const order_case& c : cases) {
    if (!c.is_judged || c.judged.status != run_status::pass) continue;
    const double ratio = c.quality.flops / best->operations;
    std::cout << one_line(
                     fmt::format("{}: {:.4g} times the operations of the best known order ({}){}",
                                 c.spec, ratio, best->made_by, ratio < 1 ? ", a new best" : ""))
              << '\n';
  }
}

// Computes the orders of a matrix alternately, checks and counts them, and writes records. A method
// that fails ends its case; the others go on. Files of permutations are read before.
provenance run_orders(std::vector<order_case>& cases, const order_options& o,
                      const session_info& session) {
  if (is_prepared(o.matrix.matrix)) {
    throw input_error(o.matrix.matrix +
                      ": is ordered already; name the matrix that it was made from");
  }
  std::optional<record_file> file;
  if (!o.out.empty()) file.emplace(o.out);
  const int threads = o.threads > 0 ? o.threads : this_machine().hardware_threads;
  const raw_matrix m = read_matrix(o.matrix.matrix, needs_values(parse_match(o.matrix.match)));
  const std::string name = marked_name(m.origin);
  const matched_pattern matched = pattern_to_order(m, o);
  for (order_case& c : cases) {
    if (c.info == nullptr) {
      c.given = read_permutation_file(c.spec, matched.matched.a.n_rows, o.inverse);
    }
  }
  add_best_known(cases, o, m.origin, m.a.n_rows);
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
      std::cerr << fmt::format(
          "[{}/{}] {} {}: {}\n", round + 1, o.repeat, one_line(name), one_line(c.spec),
          c.judged.status != run_status::pass ? one_line(c.judged.reason)
                                              : milliseconds(c.samples_s.back()) + " ms");
    }
  }
  record_writer printed;
  for (const order_case& c : cases) {
    const json r = order_record(session, m, matched, c, o, threads);
    if (file && c.judged.status != run_status::skipped) file->append(r);
    if (o.json) std::cout << printed.lines_of(r);
  }
  return m.origin;
}

// Below each order that is judged, its costs as multiples of those of the others.
void print_orders(const std::vector<order_case>& cases, bool inverse) {
  const bool commands = std::ranges::any_of(cases, is_command, &order_case::spec);
  std::vector<text_table::column> columns{{.title = "order", .words = commands},
                                          {.title = "status", .status = true}};
  const std::pair<const char*, int> numbers[] = {{"ms", 0},        {"nnz(L+U)", 0},   {"Gflop", 1},
                                                 {"height", 2},    {"path Gflop", 7}, {"front", 5},
                                                 {"peak MB", 6},   {"core ms", 8},    {"GPU ms", 9},
                                                 {"separator", 3}, {"path", 4}};
  for (const auto& [title, leave_out] : numbers) {
    columns.push_back({.title = title, .side = text_table::align::right, .leave_out = leave_out});
  }
  columns.push_back({.title = "note", .words = true});
  text_table table(std::move(columns));
  auto passed = [](const order_case& c) { return c.judged.status == run_status::pass; };
  for (const order_case& c : cases) {
    table.add(row_of(c));
    for (const order_case& base : cases) {
      const bool both = c.is_judged && !base.is_judged && passed(c) && passed(base);
      if (both) table.add(ratios_of(c, base));
    }
  }
  table.print_fitting(std::cout);
  for (const order_case& c : cases) {
    if (!c.first.why.empty()) fmt::print("{} chose {}: {}\n", c.spec, c.first.title(), c.first.why);
    if (c.info != nullptr || !c.is_judged) continue;
    std::string line = fmt::format("{}: {}", c.spec, c.given.form);
    const double ratio = c.other_flops / c.quality.flops;
    if (ratio < 1 / 1.1 || ratio > 1.1) {
      line += fmt::format("; the other reading ({}) has {:.4g} operations, {:.3g} times as many",
                          inverse ? "without --inverse" : "--inverse", c.other_flops, ratio);
    }
    std::cout << one_line(std::move(line)) << '\n';
  }
}

std::vector<order_case> plan_orders(const order_options& o) {
  std::vector<order_case> cases;
  auto add = [&](const std::vector<std::string>& words, bool is_judged) {
    for (const selected_order& s : select_orders(words)) {
      cases.push_back(
          {.spec = s.spec, .info = s.info, .by_name = s.by_name, .is_judged = is_judged});
    }
  };
  add(o.judged, true);
  add({o.matrix.order}, false);
  return cases;
}

// The worst: an order is wrong, absent though it was named, or failed.
exit_code code_of(const std::vector<order_case>& cases, bool judge) {
  exit_code code = exit_code::ok;
  for (const order_case& c : cases) {
    const run_status status = c.judged.status;
    if (status == run_status::fail) return exit_code::verification_failed;
    if (status == run_status::skipped) {
      if (c.by_name && c.is_judged == judge) code = exit_code::unavailable;
    } else if (status != run_status::pass && code == exit_code::ok) {
      code = exit_code::run_failed;
    }
  }
  return code;
}

exit_code order_matrix(const order_options& o, const session_info& session) {
  std::vector<order_case> cases = plan_orders(o);
  if (!o.order_out.empty() && (cases.size() != 1 || o.shuffle != 0)) {
    throw input_error(fmt::format(
        "--order-out: writes one order of the matrix as it is numbered, not {}",
        o.shuffle != 0 ? "that of --shuffle" : fmt::format("{}; --order names it", cases.size())));
  }
  std::optional<atomic_file> written;
  if (!o.order_out.empty()) written.emplace(o.order_out);
  const provenance origin = run_orders(cases, o, session);
  if (!o.json) {
    print_orders(cases, o.inverse);
    print_best_known(cases, o, origin);
    print_stand_in_note(origin);
  }
  if (written && cases.front().judged.status == run_status::pass) {
    written->write(lines_of(cases.front().first.order));
    written->commit();
  }
  return code_of(cases, !o.judged.empty());
}

// What `order` and `judge order` have in common.
void add_shared_options(CLI::App& c, const std::shared_ptr<order_options>& o,
                        command_action& action) {
  c.add_option("--threads", o->threads,
               "Host threads of multithreaded orders; 0: all threads of this process")
      ->check(CLI::Range(0, 4096))
      ->type_name("T")
      ->capture_default_str();
  c.add_option("--out", o->out, "Append a record of each order to this file, one line each")
      ->check(is_an_output())
      ->type_name("FILE.jsonl");
  c.add_flag("--json", o->json, "Print only the records, one line each");
  c.callback([o, &action] {
    action = [o](const session_info& session) {
      return root_only([&] { return order_matrix(*o, session); });
    };
  });
}

}  // namespace

void add_judge_order(CLI::App& judge, command_action& action) {
  auto o = std::make_shared<order_options>();
  o->matrix.order = "metis,amd";
  CLI::App* c = judge.add_subcommand(
      "order", "Count what orders cost, from files or programs, next to other orders");
  c->add_option("matrix", o->matrix.matrix, "Matrix, as for `gsofa run`")->required();
  c->add_option("orders", o->judged,
                "Files of permutations (old number by new position, from 0 or 1, as text, Matrix "
                "Market array, NumPy's .npy; METIS's .iperm), or orders as for `gsofa order`")
      ->required();
  c->add_flag("--inverse", o->inverse, "The files hold the new number by old position");
  c->add_option("--against", o->matrix.order, "Orders to compare with, as for `gsofa order`")
      ->capture_default_str();
  c->add_option("--match", o->matrix.match, "Matching, as for `gsofa run`")->capture_default_str();
  add_shared_options(*c, o, action);
  c->footer(
      "Exit status: 0 all well, 1 an order is wrong, 2 bad input, 3 an order that was named is "
      "unavailable on this machine, 4 a program failed.\n");
}

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
  add_order_out(*c, o->order_out);
  add_shared_options(*c, o, action);
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
}

}  // namespace gsofa
