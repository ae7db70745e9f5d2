#include "harness/run/selection.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "common/command_methods.hpp"
#include "common/error.hpp"

namespace gsofa {

const char* const selection_words =
    "names, patterns such as 'cpu_*', devices (cpu, gpu, mpi, peer) or all, comma-separated";

namespace {

bool is_pattern(const std::string& word) {
  return !is_command(word) && word.find_first_of("*?[") != word.npos;
}

// The end of the part that begins at `begin`: the next comma outside of quotes.
std::size_t end_of_part(const std::string& text, std::size_t begin) {
  bool quoted = false;
  for (; begin < text.size() && (quoted || text[begin] != ','); ++begin) {
    quoted = quoted != (text[begin] == '"');
  }
  return begin;
}

// The unplanted of `all` that a device word or `all` stands for.
template <class Info>
std::vector<const Info*> of_kind(const std::vector<Info>& all, const std::string& word) {
  std::vector<const Info*> found;
  for (const Info& i : all) {
    if (i.planted.empty() && (word == "all" || word == i.device)) found.push_back(&i);
  }
  return found;
}

template <class Info>
std::vector<const Info*> matching(const std::vector<Info>& all, const std::string& word) {
  std::vector<const Info*> found;
  const bool planted = word.starts_with("planted");
  for (const Info& i : all) {
    if (!planted && !i.planted.empty()) continue;
    if (fnmatch(word.c_str(), i.name.c_str(), 0) == 0) found.push_back(&i);
  }
  return found;
}

// A comma begins another order unless an option of this one follows it: NAME:a=1,b=2,NAME.
std::vector<std::string> split_orders(const std::string& text) {
  std::vector<std::string> specs;
  for (const std::string& word : split_at_commas(text)) {
    const bool option = word.find('=') != word.npos && word.find(':') == word.npos &&
                        !specs.empty() && specs.back().find(':') != word.npos &&
                        !is_command(specs.back());
    if (option) {
      specs.back() += "," + word;
    } else {
      specs.push_back(word);
    }
  }
  return specs;
}

}  // namespace

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_part(text, begin);
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<selected_variant> select_variants(const std::vector<std::string>& words) {
  std::vector<selected_variant> chosen;
  auto add = [&](const variant_info* info, bool by_name) {
    const auto known = std::ranges::find(chosen, info, &selected_variant::info);
    if (known == chosen.end()) {
      chosen.push_back({info, by_name});
    } else {
      known->by_name = known->by_name || by_name;
    }
  };
  for (const std::string& text : words) {
    const std::vector<std::string> parts = split_at_commas(text);
    if (parts.empty()) throw input_error("the name of a variant is empty");
    for (const std::string& word : parts) {
      const auto several =
          is_pattern(word) ? matching(all_variants(), word) : of_kind(all_variants(), word);
      for (const variant_info* info : several) {
        if (!info->orders) add(info, false);
      }
      if (!several.empty()) continue;
      // find_variants() has the message for a pattern that matches none.
      for (const variant_info* info : find_variants(word)) add(info, true);
    }
  }
  return chosen;
}

std::vector<selected_order> select_orders(const std::vector<std::string>& words) {
  std::vector<selected_order> chosen;
  auto add = [&](selected_order order) {
    if (std::ranges::find(chosen, order.spec, &selected_order::spec) == chosen.end()) {
      chosen.push_back(std::move(order));
    }
  };
  for (const std::string& text : words) {
    const std::vector<std::string> parts = split_orders(text);
    if (parts.empty()) throw input_error("the name of an order is empty");
    for (const std::string& word : parts) {
      std::error_code ignored;
      const bool pattern = is_pattern(word) && !std::filesystem::exists(word, ignored);
      const auto several = pattern ? matching(all_orders(), word) : of_kind(all_orders(), word);
      for (const order_info* info : several) add({info->name, info, false});
      if (!several.empty()) continue;
      if (pattern) {
        throw input_error("no order matches '" + word + "' (`gsofa list --orders` shows all)");
      }
      const auto request = find_order(word);
      add({word, request ? request->info : nullptr, true});
    }
  }
  return chosen;
}

}  // namespace gsofa
