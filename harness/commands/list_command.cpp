#include "harness/commands/list_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "harness/commands/commands.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/terminal.hpp"
#include "harness/run/verifier.hpp"

namespace gsofa {

namespace {

// No practical limit: the default maximum of option_spec.
constexpr std::int64_t unlimited = std::int64_t{1} << 62;

json option_json(const option_spec& o) {
  json j = {{"name", o.name}, {"type", o.type_name()}};
  std::visit([&](const auto& v) { j["default"] = v; }, o.default_value);
  j["help"] = o.help;
  if (o.type_name() == "int") {
    j["minimum"] = o.minimum;
    j["maximum"] = o.maximum;
  }
  if (o.type_name() == "choice") j["choices"] = o.choices;
  return j;
}

std::string option_range(const option_spec& o) {
  if (o.type_name() == "bool") return "true|false";
  if (o.type_name() == "choice") return fmt::format("{}", fmt::join(o.choices, "|"));
  return o.maximum == unlimited ? fmt::format("{}..", o.minimum)
                                : fmt::format("{}..{}", o.minimum, o.maximum);
}

// What a variant and an order have in common.
template <class Info>
json common_json(const Info& v) {
  json options = json::array();
  for (const auto& o : v.options) options.push_back(option_json(o));
  const auto why = v.unavailable();
  return {{"name", v.name},
          {"device", v.device},
          {"summary", v.summary},
          {"citation", v.citation},
          {"options", options},
          {"multithreaded", v.multithreaded},
          {"planted", v.planted},
          {"available", !why.has_value()},
          {"reason", why.value_or("")}};
}

json json_of(const variant_info& v) {
  json j = common_json(v);
  j.update({{"gives", v.gives.names()},
            {"exact", v.exact},
            {"orders", v.orders},
            {"trusted", v.name == trusted_variant}});
  return j;
}

json json_of(const order_info& v) {
  json j = common_json(v);
  j.update({{"library", v.library}, {"dissects", v.dissects}, {"same_as", v.same_as}});
  return j;
}

std::string tags_of(const variant_info&) { return ""; }
std::string tags_of(const order_info& v) { return v.dissects ? ", separator tree" : ""; }

std::string results_of(const variant_info& v) {
  return fmt::format("    gives: {}{}{}\n", v.gives.text(),
                     v.exact ? "" : " (possibly of a superset of the fill)",
                     v.orders ? " (in an order of its own)" : "");
}
std::string results_of(const order_info& v) {
  std::string text;
  if (!v.library.empty()) text += "    computed by: " + v.library + '\n';
  if (!v.same_as.empty()) text += "    the same order as " + v.same_as + " with the same options\n";
  return text;
}

// How the command line spells an option.
std::string spelling(const variant_info&, const option_spec& o) { return "--set " + o.name; }
std::string spelling(const order_info& v, const option_spec& o) { return v.name + ":" + o.name; }

template <class Info>
void print_in_full(std::ostream& out, const Info& v) {
  out << fmt::format("{}  [{}{}{}]\n", v.name, v.device, v.multithreaded ? ", threads" : "",
                     tags_of(v));
  out << "    " << v.summary << '\n';
  if (!v.planted.empty()) out << "    planted fault: " << v.planted << '\n';
  out << "    source: " << v.citation << '\n' << results_of(v);
  for (const auto& o : v.options) {
    out << fmt::format("    {}={}  ({}, {}) {}\n", spelling(v, o), to_string(o.default_value),
                       o.type_name(), option_range(o), o.help);
  }
  if (const auto why = v.unavailable()) out << "    unavailable here: " << *why << '\n';
}

template <class Info>
void print_table(std::ostream& out, const std::vector<const Info*>& chosen, const char* title) {
  text_table table({{.title = title},
                    {.title = "device"},
                    {.title = "here"},
                    {.title = "summary", .words = true}});
  std::map<std::string, std::vector<std::string>> lacking;  // names by the reason
  for (const Info* v : chosen) {
    const auto why = v->unavailable();
    if (why) lacking[one_line(*why)].push_back(v->name);
    table.add({v->name, v->device, why ? "no" : "yes", v->summary});
  }
  table.print(out, output_width());
  for (const auto& [reason, names] : lacking) {
    out << fmt::format("unavailable here: {} ({})\n", fmt::join(names, ", "), reason);
  }
}

struct selection {
  std::vector<const variant_info*> variants;
  std::vector<const order_info*> orders;
};

// All variants, or all orders.
selection select_all(bool orders, bool planted) {
  selection chosen;
  const auto add = [&](const auto& all, auto& to) {
    for (const auto& v : all) {
      if (v.planted.empty() || planted) to.push_back(&v);
    }
  };
  if (orders) {
    add(all_orders(), chosen.orders);
  } else {
    add(all_variants(), chosen.variants);
  }
  return chosen;
}

// The variants and orders that words select. A word that names an order and no variant selects the
// order.
selection select_named(const std::vector<std::string>& words, bool orders) {
  selection chosen;
  for (const std::string& text : words) {
    for (const std::string& word : split_at_commas(text)) {
      const auto named = [&](const auto& all) {
        return std::ranges::any_of(all, [&](const auto& i) { return i.name == word; });
      };
      if (orders || (named(all_orders()) && !named(all_variants()))) {
        for (const selected_order& o : select_orders({word})) {
          if (o.info == nullptr) throw input_error("'" + word + "' is a file, not an order");
          chosen.orders.push_back(o.info);
        }
      } else {
        for (const selected_variant& v : select_variants({word})) chosen.variants.push_back(v.info);
      }
    }
  }
  return chosen;
}

// Calls visit(entry) for every variant, then for every order.
void for_each(const selection& chosen, const auto& visit) {
  for (const variant_info* v : chosen.variants) visit(*v);
  for (const order_info* o : chosen.orders) visit(*o);
}

}  // namespace

void print_list_verbose(std::ostream& out, bool planted) {
  for_each(select_all(false, planted), [&](const auto& v) { print_in_full(out, v); });
}

void add_list_command(CLI::App& app, command_action& action) {
  struct options {
    bool json = false;
    bool planted = false;
    bool orders = false;
    bool matchings = false;
    bool verbose = false;
    std::vector<std::string> names;
  };
  auto o = std::make_shared<options>();
  CLI::App* c = app.add_subcommand(
      "list", "List variants: device, availability on this machine, summary; -v: their options");
  c->add_option("name", o->names,
                fmt::format("Show everything about these variants or orders: source, results, "
                            "options with type, default and range; {}",
                            selection_words))
      ->type_name("NAME");
  c->add_flag("-v,--verbose", o->verbose,
              "Show source, results, options with defaults and ranges, and why a variant is "
              "unavailable");
  c->add_flag("--json", o->json, "Print one JSON array of objects");
  c->add_flag("--planted", o->planted, "Include the deliberately wrong variants of the self-test");
  c->add_flag("--orders", o->orders, "List fill-reducing orders instead of variants");
  c->add_flag("--matchings", o->matchings, "List row matchings, a line each");
  c->callback([o, &action] {
    action = [o](const session_info&) {
      return root_only([&] {
        const bool named = !o->names.empty();
        const selection chosen =
            named ? select_named(o->names, o->orders) : select_all(o->orders, o->planted);
        if (o->matchings) {
          std::vector<const matching_info*> all;
          for (const matching_info& m : all_matchings()) all.push_back(&m);
          print_table(std::cout, all, "matching");
        } else if (o->json) {
          json list = json::array();
          for_each(chosen, [&](const auto& v) { list.push_back(json_of(v)); });
          std::cout << list.dump(2) << '\n';
        } else if (named || o->verbose) {
          for_each(chosen, [](const auto& v) { print_in_full(std::cout, v); });
        } else if (o->orders) {
          print_table(std::cout, chosen.orders, "order");
        } else {
          print_table(std::cout, chosen.variants, "variant");
        }
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
