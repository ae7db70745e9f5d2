#pragma once

#include <concepts>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/toml.hpp"

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace gsofa {

/// Parses a TOML file; throws input_error naming file, line and reason.
toml::table read_toml(const std::filesystem::path& file);

/// Reads the keys of one table. Every fault is an input_error naming file and line.
class toml_table_reader {
 public:
  /// defaults: tables with values for keys that the table lacks, the first one first.
  toml_table_reader(const toml::table& table, std::string file,
                    const std::vector<const toml::table*>& defaults = {})
      : table_(table), tables_(defaults), file_(std::move(file)) {
    tables_.insert(tables_.begin(), &table);
  }

  /// The value of `key`, or `into` unchanged if the table lacks it; a value of another type is a
  /// fault, and so is a number that does not fit.
  void get(const char* key, bool& into);
  void get(const char* key, double& into);
  void get(const char* key, std::string& into);
  void get(const char* key, std::vector<std::string>& into);
  template <std::integral T>
  void get(const char* key, T& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (!node->is_integer()) wrong(*node, key, "an integer");
    const auto value = node->value<std::int64_t>();
    if (!value || !std::in_range<T>(*value)) wrong(*node, key, "an integer that fits");
    into = static_cast<T>(*value);
  }
  template <std::integral T>
  void get(const char* key, std::vector<T>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (!node->is_array()) wrong(*node, key, "an array of integers");
    into.clear();
    for (const toml::node& item : *node->as_array()) {
      const auto value = item.value_exact<std::int64_t>();
      if (!value || !std::in_range<T>(*value)) wrong(item, key, "an array of integers that fit");
      into.push_back(static_cast<T>(*value));
    }
  }
  /// Nothing if the table lacks the key.
  std::optional<double> number(const char* key);
  /// The table [key]; nullptr if the table lacks the key.
  const toml::table* table(const char* key);
  /// The tables of [[key]]; none if the table lacks the key.
  std::vector<const toml::table*> tables(const char* key);

  /// Throws input_error if the table or its defaults have keys that nobody asked for.
  void finish() const;

  [[noreturn]] void fail(const toml::node& at, const std::string& why) const;
  [[noreturn]] void fail(const std::string& why) const { fail(table_, why); }
  /// "file:line" of the table.
  [[nodiscard]] std::string where() const { return where(table_); }

 private:
  const toml::node* find(const char* key);
  [[nodiscard]] std::string where(const toml::node& at) const;
  [[noreturn]] void wrong(const toml::node& node, const char* key, const char* expected) const;

  const toml::table& table_;
  std::vector<const toml::table*> tables_;  ///< the table, then its defaults
  std::string file_;
  std::set<std::string> known_;
};

}  // namespace gsofa
#endif
