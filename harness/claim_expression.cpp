#include "harness/claim_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "common/error.hpp"

namespace gsofa {

struct claim_expression::node {
  enum class kind { number, leaf, binary, aggregate } what = kind::number;
  double number = 0;
  claim_leaf leaf;
  std::string name;                   // operator or aggregate
  std::vector<std::string> matrices;  // of an aggregate
  std::vector<std::shared_ptr<const node>> children;
};

namespace {

using node = claim_expression::node;
using node_ptr = std::shared_ptr<const node>;

constexpr int deepest = 20;  // definitions within definitions

class parser {
 public:
  parser(const std::string& text, const claim_expression::definitions& defined,
         const claim_expression::matrix_sets& sets, int depth)
      : text_(text), defined_(defined), sets_(sets), depth_(depth) {}

  node_ptr whole() {
    node_ptr n = comparison();
    skip();
    if (at_ < text_.size()) fail("unexpected '" + text_.substr(at_, 10) + "'");
    return n;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw input_error(fmt::format("expression '{}', character {}: {}", text_, at_ + 1, why));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(const std::string& token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  void expect(const std::string& token) {
    if (!accept(token)) fail("expected '" + token + "'");
  }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    if (at_ == begin) fail("expected a name");
    return text_.substr(begin, at_ - begin);
  }

  static node_ptr binary(const std::string& name, node_ptr a, node_ptr b) {
    auto n = std::make_shared<node>();
    n->what = node::kind::binary;
    n->name = name;
    n->children = {std::move(a), std::move(b)};
    return n;
  }
  node_ptr comparison() {
    node_ptr a = sum();
    for (const char* op : {"<=", ">=", "<", ">"}) {
      if (accept(op)) return binary(op, a, sum());
    }
    return a;
  }
  node_ptr sum() {
    node_ptr a = product();
    for (;;) {
      if (accept("+")) {
        a = binary("+", a, product());
      } else if (accept("-")) {
        a = binary("-", a, product());
      } else {
        return a;
      }
    }
  }
  node_ptr product() {
    node_ptr a = primary();
    for (;;) {
      if (accept("*")) {
        a = binary("*", a, primary());
      } else if (accept("/")) {
        a = binary("/", a, primary());
      } else {
        return a;
      }
    }
  }
  node_ptr primary() {
    skip();
    if (accept("(")) {
      node_ptr n = comparison();
      expect(")");
      return n;
    }
    if (accept("$")) {
      const std::string name = word();
      const auto it = defined_.find(name);
      if (it == defined_.end()) fail("nothing is defined as '" + name + "'");
      if (depth_ >= deepest) fail("definitions that name each other");
      return parser(it->second, defined_, sets_, depth_ + 1).whole();
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      char* end = nullptr;
      auto n = std::make_shared<node>();
      n->number = std::strtod(text_.c_str() + at_, &end);
      at_ = static_cast<std::size_t>(end - text_.c_str());
      return n;
    }
    const std::string name = word();
    expect("(");
    static const std::vector<std::string> aggregates{"mean", "geomean",  "median", "min",
                                                     "max",  "sum",      "argmin", "argmax",
                                                     "at",   "fraction", "which"};
    return std::ranges::find(aggregates, name) != aggregates.end() ? aggregate(name) : leaf(name);
  }
  node_ptr aggregate(const std::string& name) {
    auto n = std::make_shared<node>();
    n->what = node::kind::aggregate;
    n->name = name;
    if (accept("{")) {
      do n->matrices.push_back(word());
      while (accept(","));
      expect("}");
    } else {
      const std::string set = word();
      const auto it = sets_.find(set);
      n->matrices = it == sets_.end() ? std::vector<std::string>{set} : it->second;
    }
    const auto& all = sets_.at("all");
    for (const auto& m : n->matrices) {
      if (std::ranges::find(all, m) == all.end()) fail("no matrix or set is named '" + m + "'");
    }
    expect(":");
    n->children = {comparison()};
    expect(")");
    return n;
  }
  node_ptr leaf(const std::string& name) {
    auto n = std::make_shared<node>();
    n->what = node::kind::leaf;
    n->leaf.name = name;
    do {
      const std::string key = word();
      if (accept("=")) {
        n->leaf.settings[key] = word();
      } else {
        n->leaf.arguments.push_back(key);
      }
    } while (accept(","));
    expect(")");
    return n;
  }

  const std::string& text_;
  const claim_expression::definitions& defined_;
  const claim_expression::matrix_sets& sets_;
  int depth_;
  std::size_t at_ = 0;
};

void note(std::vector<std::string>& list, const std::string& matrix) {
  if (std::ranges::find(list, matrix) == list.end()) list.push_back(matrix);
}

double binary_value(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "<") return a < b ? 1 : 0;
  if (op == ">") return a > b ? 1 : 0;
  if (op == "<=") return a <= b ? 1 : 0;
  return a >= b ? 1 : 0;
}

double aggregate_value(const std::string& name, std::vector<double> v) {
  double sum = 0;
  double logs = 0;
  for (const double x : v) {
    sum += x;
    logs += std::log(x);
  }
  const auto count = static_cast<double>(v.size());
  if (name == "sum") return sum;
  if (name == "geomean") return std::exp(logs / count);
  std::ranges::sort(v);
  if (name == "min" || name == "at") return v.front();
  if (name == "max") return v.back();
  if (name == "median") return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
  return sum / count;  // mean, and fraction of zeros and ones
}

class evaluation {
 public:
  evaluation(const claim_source& source, claim_value& result) : source_(source), result_(result) {}

  std::optional<double> number(const node& n, const std::string& matrix) {
    switch (n.what) {
      case node::kind::number:
        return n.number;
      case node::kind::leaf:
        if (matrix.empty()) {
          throw input_error(n.leaf.name + "() stands outside of every set of matrices");
        }
        return source_(n.leaf, matrix);
      case node::kind::binary: {
        const auto a = number(*n.children[0], matrix);
        const auto b = number(*n.children[1], matrix);
        if (!a || !b) return std::nullopt;
        const double v = binary_value(n.name, *a, *b);
        return std::isfinite(v) ? std::optional(v) : std::nullopt;
      }
      case node::kind::aggregate:
        break;
    }
    const auto [names, values] = over(n);
    if (values.empty()) return std::nullopt;
    if (n.name.starts_with("arg") || n.name == "which") {
      throw input_error(n.name + "() stands alone: it gives matrices");
    }
    if (n.name == "geomean" && std::ranges::any_of(values, [](double v) { return !(v > 0); })) {
      throw input_error("geomean() of numbers that are not all positive");
    }
    return aggregate_value(n.name, values);
  }

  void root(const node& n) {
    const bool text = n.what == node::kind::aggregate &&
                      (n.name == "argmin" || n.name == "argmax" || n.name == "which");
    if (!text) {
      if (const auto v = number(n, "")) result_.value = *v;
      return;
    }
    const auto [names, values] = over(n);
    if (values.empty()) return;
    std::string list;
    if (n.name == "which") {
      for (std::size_t k = 0; k < names.size(); ++k) {
        if (values[k] != 0) list += (list.empty() ? "" : ",") + names[k];
      }
      if (list.empty()) list = "none";
    } else {
      const auto it =
          n.name == "argmin" ? std::ranges::min_element(values) : std::ranges::max_element(values);
      list = names[static_cast<std::size_t>(it - values.begin())];
    }
    result_.value = list;
  }

 private:
  std::pair<std::vector<std::string>, std::vector<double>> over(const node& n) {
    std::vector<std::string> names;
    std::vector<double> values;
    for (const auto& m : n.matrices) {
      note(result_.asked, m);
      const auto v = number(*n.children[0], m);
      if (!v) continue;
      note(result_.measured, m);
      names.push_back(m);
      values.push_back(*v);
    }
    return {names, values};
  }

  const claim_source& source_;
  claim_value& result_;
};

}  // namespace

claim_expression claim_expression::parse(const std::string& text, const definitions& defined,
                                         const matrix_sets& sets) {
  claim_expression e;
  e.root_ = parser(text, defined, sets, 0).whole();
  return e;
}

claim_value claim_expression::evaluate(const claim_source& source) const {
  claim_value result;
  evaluation(source, result).root(*root_);
  return result;
}

}  // namespace gsofa
