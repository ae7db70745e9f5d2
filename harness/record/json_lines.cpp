#include "harness/record/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "common/error.hpp"
#include "common/file.hpp"

namespace gsofa {

namespace {

constexpr int deepest = 64;

// "[json.exception.type_error.302] type must be string" without the part in brackets.
std::string_view reason(std::string_view what) {
  const auto end = what.find("] ");
  return what.starts_with('[') && end != std::string_view::npos ? what.substr(end + 2) : what;
}

json parse_object(const std::string& line) {
  const auto shallow = [](int depth, json::parse_event_t /*event*/, const json& /*parsed*/) {
    if (depth > deepest) {
      throw input_error(fmt::format("not a record: more than {} levels deep", deepest));
    }
    return true;
  };
  json value;
  try {
    value = json::parse(line, shallow);
  } catch (const json::parse_error& e) {
    throw input_error(fmt::format("not JSON from column {} on", std::max<std::size_t>(1, e.byte)));
  }
  if (!value.is_object()) throw input_error("not a record: not a JSON object");
  return value;
}

bool is_of(const json& value, json_type type) {
  switch (type) {
    case json_type::text:
      return value.is_string();
    case json_type::flag:
      return value.is_boolean();
    case json_type::integer:
      return value.is_number_integer();
    case json_type::number:
      return value.is_number();
    case json_type::object:
      return value.is_object();
    case json_type::array:
      return value.is_array();
    case json_type::numbers:
      return value.is_array() && std::ranges::all_of(value, &json::is_number);
  }
  return false;
}

const char* name_of(json_type type) {
  switch (type) {
    case json_type::text:
      return "a string";
    case json_type::flag:
      return "true or false";
    case json_type::integer:
      return "an integer";
    case json_type::number:
      return "a number";
    case json_type::object:
      return "an object";
    case json_type::array:
      return "an array";
    case json_type::numbers:
      return "an array of numbers";
  }
  return "";
}

// "/matrix/name" as "matrix.name"
std::string dotted(const char* pointer) {
  std::string name = pointer + 1;
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace

void read_json_lines(const std::filesystem::path& file, const std::function<void(json)>& use,
                     cut_off_line last) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw input_error(file.string() + ": is a directory");
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error(file.string() + ": cannot be read" + because_of_errno());
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    if (last == cut_off_line::pass_over && in.eof() && !json::accept(line)) break;
    try {
      use(parse_object(line));
    } catch (const json::exception& e) {
      throw input_error(
          fmt::format("{}:{}: not a record: {}", file.string(), number, reason(e.what())));
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}:{}: {}", file.string(), number, e.what()));
    }
  }
  if (in.bad()) throw input_error(file.string() + ": cannot be read" + because_of_errno());
}

void require_fields(const json& value, std::initializer_list<json_field> fields) {
  for (const auto& field : fields) {
    const json::json_pointer pointer(field.pointer);
    if (!value.contains(pointer)) {
      if (field.optional) continue;
      throw input_error(fmt::format("not a record: '{}' is missing", dotted(field.pointer)));
    }
    if (!is_of(value.at(pointer), field.type)) {
      throw input_error(
          fmt::format("not a record: '{}' is not {}", dotted(field.pointer), name_of(field.type)));
    }
  }
}

}  // namespace gsofa
