#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gsofa {

/// One leaf of an expression, such as time(gpu_maxid, memory_budget_mb=1024).
struct claim_leaf {
  std::string name;
  std::vector<std::string> arguments;           ///< without '='
  std::map<std::string, std::string> settings;  ///< key=value
};

/// Answers leaves for one matrix (its abbreviation). Empty: nothing was measured.
using claim_source =
    std::function<std::optional<double>(const claim_leaf& leaf, const std::string& matrix)>;

/// What an expression comes to.
struct claim_value {
  /// Empty if not even one matrix was measured; text: a matrix, or several joined by commas.
  std::variant<std::monostate, double, std::string> value;
  std::vector<std::string> measured;  ///< matrices that it rests on
  std::vector<std::string> asked;     ///< matrices that its sets name
  [[nodiscard]] bool empty() const { return std::holds_alternative<std::monostate>(value); }
};

/// An expression over measurements:
///   numbers, + - * / and parentheses, comparisons < > <= >=,
///   AGGREGATE(SET: E) over matrices: mean geomean median min max sum fraction argmin argmax which
///   at
///     (at: SET is one matrix; fraction: share of the matrices where a comparison holds, which:
///     their list), SET: all, small, large, {A,B} or one abbreviation;
///   leaves NAME(ARGUMENT, KEY=VALUE, ...), answered by a claim_source;
///   $NAME for an expression defined elsewhere.
/// A matrix on which something was not measured is left out of an aggregate.
class claim_expression {
 public:
  using definitions = std::map<std::string, std::string>;
  using matrix_sets = std::map<std::string, std::vector<std::string>>;

  /// Throws input_error naming what is wrong and where.
  static claim_expression parse(const std::string& text, const definitions& defined,
                                const matrix_sets& sets);
  [[nodiscard]] claim_value evaluate(const claim_source& source) const;

  struct node;

 private:
  std::shared_ptr<const node> root_;
};

}  // namespace gsofa
