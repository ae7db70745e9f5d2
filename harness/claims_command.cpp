#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

#include "harness/build_info.hpp"
#include "harness/claim_records.hpp"
#include "harness/claims.hpp"
#include "harness/commands.hpp"
#include "harness/status.hpp"
#include "harness/table.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

struct claims_options {
  fs::path file;
  std::string item;
  std::vector<std::string> records;  // NAME=PATH: instead of those that the file names
  bool json_lines = false;
  bool check = false;
};

std::string shown(const std::variant<double, std::string>& v) {
  if (const auto* text = std::get_if<std::string>(&v)) return *text;
  return fmt::format("{:.4g}", std::get<double>(v));
}

std::string measured_text(const judged_claim& j) {
  if (!j.what.test.empty()) return "(test)";
  if (const auto* text = std::get_if<std::string>(&j.measured.value)) return *text;
  if (const auto* number = std::get_if<double>(&j.measured.value)) {
    return fmt::format("{:.4g}", *number);
  }
  return "-";
}

std::string basis(const judged_claim& j) {
  if (j.measured.empty()) return "";
  std::string s = fmt::format("{}/{}", j.measured.measured.size(), j.measured.asked.size());
  if (j.stand_ins > 0) s += fmt::format(", {} stand-in", j.stand_ins);
  if (j.simulated) s += ", simulated";
  return s;
}

json to_json(const judged_claim& j) {
  json r;
  r["id"] = j.what.id;
  r["item"] = j.what.item;
  r["where"] = j.what.where;
  r["says"] = j.what.says;
  std::visit([&](const auto& v) { r["paper"] = v; }, j.what.paper);
  r["unit"] = j.what.unit;
  r["matrix"] = j.what.matrix;
  r["series"] = j.what.series;
  if (const auto* text = std::get_if<std::string>(&j.measured.value)) r["measured"] = *text;
  if (const auto* number = std::get_if<double>(&j.measured.value)) r["measured"] = *number;
  r["verdict"] = to_string(j.found);
  r["matrices"] = j.measured.measured;
  r["asked"] = j.measured.asked;
  r["stand_ins"] = j.stand_ins;
  r["simulated"] = j.simulated;
  r["test"] = j.what.test;
  r["why"] = j.what.why.empty() ? j.reason : j.what.why;
  r["note"] = j.what.note;
  return r;
}

void print_board(const std::vector<judged_claim>& judged) {
  using align = text_table::align;
  text_table table({{.title = "claim"},
                    {.title = "paper", .side = align::right},
                    {.title = "here", .side = align::right},
                    {.title = "unit"},
                    {.title = "verdict"},
                    {.title = "matrices"}});
  for (const auto& j : judged) {
    table.add({j.what.id, shown(j.what.paper), measured_text(j), j.what.unit, to_string(j.found),
               basis(j)});
  }
  table.print(std::cout);
}

// By verdict: claims on originals or none, on stand-ins at least in part, simulated.
void print_totals(const std::vector<judged_claim>& judged) {
  std::map<verdict, std::array<int, 3>> totals;
  for (const auto& j : judged) ++totals[j.found][j.simulated ? 2 : j.stand_ins > 0 ? 1 : 0];
  std::cout << fmt::format("\n{} claims\n", judged.size());
  for (const auto& [v, n] : totals) {
    std::cout << fmt::format("{:<18} {:>4}: {} without stand-ins, {} with, {} simulated\n",
                             to_string(v), n[0] + n[1] + n[2], n[0], n[1], n[2]);
  }
}

// What the file states must be what the records say, with a reason where they differ.
exit_code check_stated(const std::vector<judged_claim>& judged) {
  int wrong = 0;
  for (const auto& j : judged) {
    std::string problem;
    if (j.found == verdict::unjudged) {
      problem = "is unjudged: " + j.reason;
    } else if (j.what.stated != to_string(j.found)) {
      problem = fmt::format("is stated as '{}', the records say '{}' ({})", j.what.stated,
                            to_string(j.found), measured_text(j));
    } else if (j.what.why.empty() &&
               (j.found == verdict::shape_only || j.found == verdict::not_reproduced)) {
      problem = "has no reason why it differs";
    }
    if (problem.empty()) continue;
    ++wrong;
    std::fprintf(stderr, "%s %s\n", one_line(j.what.id).c_str(), one_line(problem).c_str());
  }
  return wrong == 0 ? exit_code::ok : exit_code::verification_failed;
}

exit_code run(const claims_options& o) {
  const fs::path file = o.file.empty() ? repository_root() / "paper" / "claims.toml" : o.file;
  claim_file claims = read_claims(file);
  std::map<std::string, claim_records> records;
  for (const auto& [name, paths] : claims.records) {
    std::vector<fs::path> sources;
    for (const auto& given : o.records) {
      if (given.starts_with(name + "=")) sources.emplace_back(given.substr(name.size() + 1));
    }
    if (sources.empty()) {
      for (const auto& p : paths) sources.push_back(repository_root() / p);
    }
    records.emplace(name, claim_records(sources));
  }
  for (const auto& given : o.records) {
    if (!claims.records.contains(given.substr(0, given.find('=')))) {
      throw input_error("--records " + given + ": expected NAME=PATH with a NAME of [records]");
    }
  }
  std::vector<judged_claim> judged;
  for (const auto& c : claims.claims) {
    if (!o.item.empty() && c.item != o.item) continue;
    const claim_records& from = records.at(c.records);
    judged.push_back(judge(
        c, claims,
        [&](const claim_leaf& leaf, const std::string& m) { return from.answer(leaf, m); },
        [&](const std::string& m) { return from.is_stand_in(m); }));
  }
  if (judged.empty()) throw input_error("no claim belongs to '" + o.item + "'");
  if (o.json_lines) {
    for (const auto& j : judged) std::cout << json_line(to_json(j)) << "\n";
    for (const auto& [name, expression] : claims.numbers) {
      const claim_records& from = records.at("paper");
      const claim_value v = claim_expression::parse(expression, claims.defined, claims.sets)
                                .evaluate([&](const claim_leaf& l, const std::string& m) {
                                  return from.answer(l, m);
                                });
      json line{{"number", name}, {"matrices", v.measured.size()}};
      if (const auto* value = std::get_if<double>(&v.value)) line["value"] = *value;
      std::cout << json_line(line) << "\n";
    }
  } else {
    print_board(judged);
    print_totals(judged);
    for (const auto& [name, from] : records) {
      std::cout << one_line(fmt::format("records '{}': {}", name, from.machine())) << "\n";
    }
  }
  std::cout.flush();
  return o.check ? check_stated(judged) : exit_code::ok;
}

}  // namespace

void add_claims_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<claims_options>();
  CLI::App* c =
      app.add_subcommand("claims", "Scoreboard: every statement of the paper against the records");
  c->add_option("--claims", o->file, "The claims; default: paper/claims.toml")
      ->type_name("FILE.toml");
  c->add_option("--item", o->item, "Only claims of this experiment")->type_name("NAME");
  c->add_option("--records", o->records,
                "Other records than those that the file names; may be repeated")
      ->type_name("NAME=PATH");
  c->add_flag("--json", o->json_lines, "One JSON line each");
  c->add_flag("--check", o->check, "Fail if a stated verdict is not what the records say");
  c->callback([o, &action] { action = [o](const session_info&) { return run(*o); }; });
}

}  // namespace gsofa
