#include "harness/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "harness/toml_reader.hpp"

namespace gsofa {

const char* to_string(verdict v) {
  static constexpr std::array<const char*, 5> names{"reproduced", "shape only", "not reproduced",
                                                    "not testable here", "unjudged"};
  return names.at(static_cast<std::size_t>(v));
}

bool has_shape(double value, const std::string& shape) {
  const auto space = shape.find(' ');
  const std::string op = shape.substr(0, space);
  double bound = 0;
  try {
    std::size_t used = 0;
    const std::string number = space == std::string::npos ? "" : shape.substr(space + 1);
    bound = std::stod(number, &used);
    if (used != number.size()) throw std::invalid_argument(number);
  } catch (const std::logic_error&) {
    throw input_error("shape '" + shape + "': expected an operator and a number, as in '> 1'");
  }
  if (op == ">") return value > bound;
  if (op == "<") return value < bound;
  if (op == ">=") return value >= bound;
  if (op == "<=") return value <= bound;
  if (op == "=") return std::abs(value - bound) <= 1e-9 * std::max(1.0, std::abs(bound));
  throw input_error("shape '" + shape + "': the operator is none of > < >= <= =");
}

namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

void judge_text(judged_claim& j, const std::string& measured) {
  const auto* paper = std::get_if<std::string>(&j.what.paper);
  if (paper == nullptr)
    throw input_error(j.what.id + ": the measure gives matrices, paper a number");
  std::string missing;
  for (const auto& m : j.measured.asked) {
    if (!contains(j.measured.measured, m)) missing += (missing.empty() ? "" : ", ") + m;
  }
  if (!missing.empty()) {
    j.found = verdict::not_testable;
    j.reason = "not measured on " + missing;
    return;
  }
  j.found = measured == *paper ? verdict::reproduced : verdict::not_reproduced;
}

void judge_number(judged_claim& j, double measured) {
  const bool shaped = j.what.shape.empty() || has_shape(measured, j.what.shape);
  if (const auto* paper = std::get_if<double>(&j.what.paper)) {
    const double distance = std::abs(measured - *paper);
    const bool close = distance <= j.what.tolerance * std::abs(*paper - j.what.baseline) + 1e-12;
    j.found = !shaped ? verdict::not_reproduced : close ? verdict::reproduced : verdict::shape_only;
  } else {
    if (j.what.shape.empty()) throw input_error(j.what.id + ": neither a number nor a shape");
    j.found = shaped ? verdict::reproduced : verdict::not_reproduced;
  }
}

}  // namespace

judged_claim judge(const claim& c, const claim_file& file, const claim_source& source,
                   const std::function<bool(const std::string&)>& is_stand_in) {
  judged_claim j;
  j.what = c;
  if (!c.not_testable.empty()) {
    j.found = verdict::not_testable;
    j.reason = c.not_testable;
    return j;
  }
  if (!c.test.empty()) {
    j.found = verdict::reproduced;
    return j;
  }
  const auto traced = [&](const claim_leaf& leaf, const std::string& matrix) {
    if (leaf.name == "simulated") j.simulated = true;
    return source(leaf, matrix);
  };
  try {
    j.measured = claim_expression::parse(c.measure, file.defined, file.sets).evaluate(traced);
    j.stand_ins = static_cast<std::size_t>(std::ranges::count_if(j.measured.measured, is_stand_in));
    if (j.measured.empty()) {
      j.reason = "no records";
    } else if (!c.not_comparable.empty()) {
      j.found = verdict::not_testable;
      j.reason = c.not_comparable;
    } else if (c.by_construction && j.stand_ins > 0) {
      j.found = verdict::not_testable;
      j.reason = "the stand-in was made to have this value";
    } else if (const auto* text = std::get_if<std::string>(&j.measured.value)) {
      judge_text(j, *text);
    } else {
      judge_number(j, std::get<double>(j.measured.value));
    }
  } catch (const input_error& e) {
    throw input_error(c.id + ": " + e.what());
  }
  return j;
}

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

[[noreturn]] void fail(const std::string& file, const toml::node& at, const std::string& why) {
  throw input_error(fmt::format("{}:{}: {}", file, at.source().begin.line, why));
}

std::string text(const std::string& file, const toml::table& t, const char* key) {
  const toml::node* node = t.get(key);
  if (node == nullptr) return "";
  const auto value = node->value_exact<std::string>();
  if (!value) fail(file, *node, fmt::format("'{}' is not a string", key));
  // Lines that were broken begin with blanks.
  const auto first = value->find_first_not_of(" \n");
  return first == std::string::npos ? "" : value->substr(first);
}

double number(const std::string& file, const toml::table& t, const char* key) {
  const toml::node* node = t.get(key);
  if (node == nullptr) return 0;
  if (!node->is_number()) fail(file, *node, fmt::format("'{}' is not a number", key));
  return *node->value<double>();
}

std::vector<std::string> texts(const std::string& file, const toml::node& node) {
  std::vector<std::string> out;
  if (!node.is_array()) fail(file, node, "not an array of strings");
  for (const toml::node& item : *node.as_array()) {
    const auto value = item.value_exact<std::string>();
    if (!value) fail(file, item, "not a string");
    out.push_back(*value);
  }
  return out;
}

claim read_claim(const std::string& file, const toml::table& t) {
  static const std::set<std::string> known{
      "id",   "item",         "where",           "says",      "paper",
      "unit", "matrix",       "series",          "records",   "measure",
      "test", "not_testable", "shape",           "tolerance", "verdict",
      "why",  "note",         "by_construction", "baseline",  "not_comparable"};
  for (const auto& [key, node] : t) {
    if (!known.contains(std::string(key.str()))) {
      fail(file, node, fmt::format("unknown key '{}'", key.str()));
    }
  }
  claim c;
  c.id = text(file, t, "id");
  c.item = text(file, t, "item");
  c.where = text(file, t, "where");
  c.says = text(file, t, "says");
  c.unit = text(file, t, "unit");
  c.matrix = text(file, t, "matrix");
  c.series = text(file, t, "series");
  c.records = text(file, t, "records");
  c.measure = text(file, t, "measure");
  c.test = text(file, t, "test");
  c.not_testable = text(file, t, "not_testable");
  c.shape = text(file, t, "shape");
  c.stated = text(file, t, "verdict");
  c.why = text(file, t, "why");
  c.note = text(file, t, "note");
  c.not_comparable = text(file, t, "not_comparable");
  c.tolerance = number(file, t, "tolerance");
  c.baseline = number(file, t, "baseline");
  if (const toml::node* node = t.get("by_construction")) {
    if (!node->is_boolean()) fail(file, *node, "'by_construction' is neither true nor false");
    c.by_construction = *node->value<bool>();
  }
  const toml::node* paper = t.get("paper");
  if (paper == nullptr) fail(file, t, "[[claim]] without 'paper'");
  if (paper->is_number()) {
    c.paper = *paper->value<double>();
  } else {
    c.paper = text(file, t, "paper");
  }
  for (const auto& [key, value] : {std::pair{"id", c.id}, {"item", c.item}, {"says", c.says}}) {
    if (value.empty()) fail(file, t, fmt::format("[[claim]] without '{}'", key));
  }
  const int ways =
      (c.measure.empty() ? 0 : 1) + (c.test.empty() ? 0 : 1) + (c.not_testable.empty() ? 0 : 1);
  if (ways != 1) fail(file, t, c.id + ": needs one of 'measure', 'test' and 'not_testable'");
  if (c.records.empty()) c.records = "paper";
  return c;
}

}  // namespace

claim_file read_claims(const std::filesystem::path& path) {
  const toml::table root = read_toml(path);
  const std::string file = path.string();
  claim_file out;
  const auto table_of = [&](const char* key) {
    const toml::table* t = root[key].as_table();
    if (t == nullptr) fail(file, root, fmt::format("no table [{}]", key));
    return t;
  };
  for (const auto& [key, node] : *table_of("records")) {
    out.records[std::string(key.str())] = texts(file, node);
  }
  for (const auto& [key, node] : *table_of("sets")) {
    out.sets[std::string(key.str())] = texts(file, node);
  }
  if (!out.sets.contains("all")) fail(file, root, "[sets] without 'all'");
  for (const auto& [key, node] : *table_of("define")) {
    out.defined[std::string(key.str())] = text(file, *root["define"].as_table(), key.data());
  }
  if (const toml::table* numbers = root["numbers"].as_table()) {
    for (const auto& [key, node] : *numbers) {
      out.numbers[std::string(key.str())] = text(file, *numbers, key.data());
    }
  }
  std::set<std::string> ids;
  if (const toml::array* claims = root["claim"].as_array()) {
    for (const toml::node& node : *claims) {
      if (!node.is_table()) fail(file, node, "[[claim]] is not a table");
      claim c = read_claim(file, *node.as_table());
      if (!ids.insert(c.id).second) fail(file, node, "a second claim '" + c.id + "'");
      if (!out.records.contains(c.records)) {
        fail(file, node, c.id + ": [records] has no '" + c.records + "'");
      }
      out.claims.push_back(std::move(c));
    }
  }
  if (const toml::array* findings = root["finding"].as_array()) {
    for (const toml::node& node : *findings) {
      if (!node.is_table()) fail(file, node, "[[finding]] is not a table");
      const toml::table& t = *node.as_table();
      out.findings.push_back({text(file, t, "id"), text(file, t, "where"), text(file, t, "says")});
    }
  }
  return out;
}

#else

claim_file read_claims(const std::filesystem::path& file) {
  throw unavailable_error(file.string() +
                          ": this build cannot read TOML: apt-get install libtomlplusplus-dev");
}

#endif

}  // namespace gsofa
