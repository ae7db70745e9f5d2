#include "harness/matrices/toml_reader.hpp"

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "common/file.hpp"
#include "common/text.hpp"

namespace gsofa {

namespace {

enum class verdict { well, malformed, asserts };

verdict parse(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const toml_assertion&) {
    return verdict::asserts;
  } catch (const toml::parse_error&) {
    return verdict::malformed;
  }
  return verdict::well;
}

// The parser reads from left to right: a text that begins with a faulty one is faulty.
std::size_t line_of_assertion(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size(); at = ends.back()) {
    const auto end = text.find('\n', at);
    ends.push_back(end == std::string_view::npos ? text.size() : end + 1);
  }
  const auto first = std::ranges::partition_point(
      ends, [&](std::size_t end) { return parse(text.substr(0, end)) != verdict::asserts; });
  return static_cast<std::size_t>(first - ends.begin()) + 1;
}

}  // namespace

toml::table read_toml(const std::filesystem::path& file) {
  const std::string name = file.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw input_error(name + ": is a directory");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error(name + ": cannot be opened" + because_of_errno());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw input_error(name + ": cannot be read" + because_of_errno());
  // toml++ would name the line of the previous character.
  if (const std::size_t valid = utf8_prefix(text); valid < text.size()) {
    const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(valid), '\n');
    throw input_error(fmt::format("{}:{}: not UTF-8", name, line));
  }
  try {
    return toml::parse(std::string_view(text), std::string_view(name));
  } catch (const toml::parse_error& e) {
    // toml++ reports a lack of memory while it reads a number as a malformed number.
    if (parse(text) == verdict::well) throw std::bad_alloc();
    const auto line = std::max<toml::source_index>(1, e.source().begin.line);
    throw input_error(fmt::format("{}:{}: {}", name, line, e.description()));
  } catch (const toml_assertion&) {
    throw input_error(fmt::format("{}:{}: not TOML", name, line_of_assertion(text)));
  }
}

void toml_table_reader::get(const char* key, bool& into) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<bool>();
  if (!value) wrong(*node, key, "true or false");
  into = *value;
}

void toml_table_reader::get(const char* key, double& into) {
  if (const auto value = number(key)) into = *value;
}

void toml_table_reader::get(const char* key, std::string& into) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string>();
  if (!value) wrong(*node, key, "a string");
  into = *value;
}

void toml_table_reader::get(const char* key, std::vector<std::string>& into) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_array()) wrong(*node, key, "an array of strings");
  into.clear();
  for (const toml::node& item : *node->as_array()) {
    const auto text = item.value_exact<std::string>();
    if (!text) wrong(item, key, "an array of strings");
    into.push_back(*text);
  }
}

std::optional<double> toml_table_reader::number(const char* key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_number()) wrong(*node, key, "a number");
  const auto value = node->value<double>();  // none for an integer that a double cannot hold
  if (!value) wrong(*node, key, "a number that fits");
  return value;
}

const toml::table* toml_table_reader::table(const char* key) {
  const toml::node* node = find(key);
  if (node != nullptr && !node->is_table()) wrong(*node, key, "a table");
  return node == nullptr ? nullptr : node->as_table();
}

std::vector<const toml::table*> toml_table_reader::tables(const char* key) {
  std::vector<const toml::table*> out;
  const toml::node* node = find(key);
  if (node == nullptr) return out;
  if (!node->is_array()) fail(*node, fmt::format("[[{}]] is not an array of tables", key));
  for (const toml::node& item : *node->as_array()) {
    if (!item.is_table()) fail(item, fmt::format("[[{}]] is not a table", key));
    out.push_back(item.as_table());
  }
  return out;
}

void toml_table_reader::finish() const {
  for (const toml::table* table : tables_) {
    for (const auto& [key, node] : *table) {
      const std::string name(key.str());
      if (!known_.contains(name)) fail(node, "unknown key '" + name + "'");
    }
  }
}

void toml_table_reader::fail(const toml::node& at, const std::string& why) const {
  throw input_error(where(at) + ": " + why);
}

const toml::node* toml_table_reader::find(const char* key) {
  known_.insert(key);
  for (const toml::table* table : tables_) {
    if (const toml::node* node = table->get(key)) return node;
  }
  return nullptr;
}

std::string toml_table_reader::where(const toml::node& at) const {
  return fmt::format("{}:{}", file_, std::max<toml::source_index>(1, at.source().begin.line));
}

void toml_table_reader::wrong(const toml::node& node, const char* key, const char* expected) const {
  fail(node, fmt::format("'{}' is not {}", key, expected));
}

}  // namespace gsofa

#endif
