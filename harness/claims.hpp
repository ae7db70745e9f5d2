#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "harness/claim_expression.hpp"

namespace gsofa {

enum class verdict { reproduced, shape_only, not_reproduced, not_testable, unjudged };
const char* to_string(verdict v);

/// A statement of the paper with the measurement that answers it.
struct claim {
  std::string id;
  std::string item;   ///< folder of the experiment
  std::string where;  ///< place in the paper
  std::string says;   ///< in other words
  std::string unit;
  std::string matrix, series;               ///< one value of a series by matrix; may be empty
  std::string records;                      ///< key of [records]
  std::variant<double, std::string> paper;  ///< a word where only the direction is stated
  /// One of three: an expression, the name of a test case, or why it cannot be tested.
  std::string measure, test, not_testable;
  std::string shape;     ///< "> 1": what must hold of the measured value
  double tolerance = 0;  ///< relative; within it the value is reproduced
  double baseline = 0;   ///< what no effect would be: the tolerance is relative to paper - baseline
  std::string not_comparable;  ///< why the measured value, though shown, says nothing on the claim
  bool by_construction = false;  ///< a stand-in was made to have this value: only originals count
  std::string stated;            ///< the verdict that the file states
  std::string why;               ///< why the measurement differs
  std::string note;
};

/// A place where the paper disagrees with itself.
struct finding {
  std::string id, where, says;
};

/// What paper/claims.toml holds.
struct claim_file {
  std::vector<claim> claims;
  std::vector<finding> findings;
  claim_expression::definitions defined;
  claim_expression::matrix_sets sets;
  std::map<std::string, std::vector<std::string>> records;  ///< folders and files, from the root
  std::map<std::string, std::string> numbers;  ///< expressions over the records "paper" by name
};

/// Throws input_error naming file and line; unavailable_error in a build without TOML.
claim_file read_claims(const std::filesystem::path& file);

/// A claim with what was measured.
struct judged_claim {
  claim what;
  verdict found = verdict::unjudged;
  claim_value measured;
  std::size_t stand_ins = 0;  ///< of the matrices that it rests on
  bool simulated = false;
  std::string reason;  ///< of not_testable and unjudged
};

/// The verdict on a value; `source` answers the leaves, `is_stand_in` says what a matrix is.
judged_claim judge(const claim& c, const claim_file& file, const claim_source& source,
                   const std::function<bool(const std::string&)>& is_stand_in);

/// True if `value` satisfies a shape such as "> 1" or "= 13"; throws input_error for anything else.
bool has_shape(double value, const std::string& shape);

}  // namespace gsofa
