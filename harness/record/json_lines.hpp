#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>

#include "harness/record/record.hpp"

namespace gsofa {

/// What to do with a last line that has no line end and is no JSON.
enum class cut_off_line { refuse, pass_over };

/// Calls `use` with every object of a JSON Lines file; empty lines are left out. Throws input_error
/// naming file and line if a line is no JSON object, is nested deeper than 64 levels, or is refused
/// by `use`, that is, by an input_error or an exception of the JSON library.
void read_json_lines(const std::filesystem::path& file, const std::function<void(json)>& use,
                     cut_off_line last = cut_off_line::refuse);

/// What a field of a JSON object must be.
enum class json_type { text, flag, integer, number, object, array, numbers };

/// A field by its JSON pointer, such as "/matrix/name".
struct json_field {
  const char* pointer;
  json_type type;
  bool optional = false;
};

/// Throws input_error naming the field, but no file, if a field is absent or of another type.
void require_fields(const json& value, std::initializer_list<json_field> fields);

}  // namespace gsofa
