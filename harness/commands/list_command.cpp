#include "harness/commands/list_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

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

bool listed(const variant_info& v, bool planted) { return v.planted.empty() || planted; }

// Of variants or of orders.
template <class Info>
void print_short(std::ostream& out, const std::vector<Info>& all, const char* title, bool planted,
                 std::size_t width) {
  text_table table({{.title = title},
                    {.title = "device"},
                    {.title = "here"},
                    {.title = "summary", .words = true}});
  std::map<std::string, std::vector<std::string>> lacking;  // names by the reason
  for (const Info& v : all) {
    if (!v.planted.empty() && !planted) continue;
    const auto why = v.unavailable();
    if (why) lacking[one_line(*why)].push_back(v.name);
    table.add({v.name, v.device, why ? "no" : "yes", v.summary});
  }
  table.print(out, width);
  for (const auto& [reason, names] : lacking) {
    out << fmt::format("unavailable here: {} ({})\n", fmt::join(names, ", "), reason);
  }
}

}  // namespace

void print_list(std::ostream& out, bool planted, std::size_t width) {
  print_short(out, all_variants(), "variant", planted, width);
}

void print_orders(std::ostream& out, bool planted, std::size_t width) {
  print_short(out, all_orders(), "order", planted, width);
}

namespace {

json variant_json(const variant_info& v) {
  json options = json::array();
  for (const auto& o : v.options) options.push_back(option_json(o));
  const auto why = v.unavailable();
  return {{"name", v.name},
          {"device", v.device},
          {"summary", v.summary},
          {"citation", v.citation},
          {"gives", v.gives.names()},
          {"options", options},
          {"multithreaded", v.multithreaded},
          {"exact", v.exact},
          {"orders", v.orders},
          {"trusted", v.name == trusted_variant},
          {"planted", v.planted},
          {"available", !why.has_value()},
          {"reason", why.value_or("")}};
}

json order_json(const order_info& v) {
  json options = json::array();
  for (const auto& o : v.options) options.push_back(option_json(o));
  const auto why = v.unavailable();
  return {{"name", v.name},
          {"device", v.device},
          {"summary", v.summary},
          {"citation", v.citation},
          {"library", v.library},
          {"options", options},
          {"multithreaded", v.multithreaded},
          {"dissects", v.dissects},
          {"same_as", v.same_as},
          {"planted", v.planted},
          {"available", !why.has_value()},
          {"reason", why.value_or("")}};
}

void print_whole(std::ostream& out, const variant_info& v) {
  out << fmt::format("{}  [{}{}]\n", v.name, v.device, v.multithreaded ? ", threads" : "");
  out << "    " << v.summary << '\n';
  if (!v.planted.empty()) out << "    planted fault: " << v.planted << '\n';
  out << "    source: " << v.citation << '\n';
  out << fmt::format("    gives: {}{}{}\n", v.gives.text(),
                     v.exact ? "" : " (possibly of a superset of the fill)",
                     v.orders ? " (in an order of its own)" : "");
  for (const auto& o : v.options) {
    out << fmt::format("    --set {}={}  ({}, {}) {}\n", o.name, to_string(o.default_value),
                       o.type_name(), option_range(o), o.help);
  }
  if (const auto why = v.unavailable()) out << "    unavailable here: " << *why << '\n';
}

void print_whole(std::ostream& out, const order_info& v) {
  out << fmt::format("{}  [{}{}{}]\n", v.name, v.device, v.multithreaded ? ", threads" : "",
                     v.dissects ? ", separator tree" : "");
  out << "    " << v.summary << '\n';
  if (!v.planted.empty()) out << "    planted fault: " << v.planted << '\n';
  out << "    source: " << v.citation << '\n';
  if (!v.library.empty()) out << "    computed by: " << v.library << '\n';
  if (!v.same_as.empty()) {
    out << "    the same order as " << v.same_as << " with the same options\n";
  }
  for (const auto& o : v.options) {
    out << fmt::format("    {}:{}={}  ({}, {}) {}\n", v.name, o.name, to_string(o.default_value),
                       o.type_name(), option_range(o), o.help);
  }
  if (const auto why = v.unavailable()) out << "    unavailable here: " << *why << '\n';
}

// Variants and orders that words select. A word that names an order and no variant is an order.
struct selection {
  std::vector<const variant_info*> variants;
  std::vector<const order_info*> orders;
};

selection select_both(const std::vector<std::string>& words, bool orders) {
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

}  // namespace

json list_json(bool planted) {
  json list = json::array();
  for (const auto& v : all_variants()) {
    if (listed(v, planted)) list.push_back(variant_json(v));
  }
  return list;
}

void print_list_verbose(std::ostream& out, bool planted) {
  for (const auto& v : all_variants()) {
    if (listed(v, planted)) print_whole(out, v);
  }
}

json orders_json(bool planted) {
  json list = json::array();
  for (const order_info& v : all_orders()) {
    if (v.planted.empty() || planted) list.push_back(order_json(v));
  }
  return list;
}

void print_orders_verbose(std::ostream& out, bool planted) {
  for (const order_info& v : all_orders()) {
    if (v.planted.empty() || planted) print_whole(out, v);
  }
}

json named_json(const std::vector<std::string>& words, bool orders) {
  const selection chosen = select_both(words, orders);
  json list = json::array();
  for (const variant_info* v : chosen.variants) list.push_back(variant_json(*v));
  for (const order_info* o : chosen.orders) list.push_back(order_json(*o));
  return list;
}

void print_named(std::ostream& out, const std::vector<std::string>& words, bool orders) {
  const selection chosen = select_both(words, orders);
  for (const variant_info* v : chosen.variants) print_whole(out, *v);
  for (const order_info* o : chosen.orders) print_whole(out, *o);
}

void add_list_command(CLI::App& app, command_action& action) {
  struct options {
    bool json = false;
    bool planted = false;
    bool orders = false;
    bool verbose = false;
    std::vector<std::string> names;
  };
  auto o = std::make_shared<options>();
  CLI::App* c = app.add_subcommand(
      "list", "Variants: device, whether they are available here, what they do; -v: their options");
  c->add_option("name", o->names,
                fmt::format("Everything about these variants or orders: source, what each gives, "
                            "options with type, default and range; {}",
                            selection_words))
      ->type_name("NAME");
  c->add_flag("-v,--verbose", o->verbose,
              "Source, what each gives, options with defaults and ranges, reasons");
  c->add_flag("--json", o->json, "One JSON array of objects on stdout");
  c->add_flag("--planted", o->planted, "Include the deliberately wrong ones of the self-test");
  c->add_flag("--orders", o->orders, "Fill-reducing orders instead of variants");
  c->callback([o, &action] {
    action = [o](const session_info&) {
      return root_only([&] {
        if (!o->names.empty()) {
          if (o->json) {
            std::cout << named_json(o->names, o->orders).dump(2) << '\n';
          } else {
            print_named(std::cout, o->names, o->orders);
          }
        } else if (o->json) {
          std::cout << (o->orders ? orders_json(o->planted) : list_json(o->planted)).dump(2)
                    << '\n';
        } else if (o->verbose) {
          (o->orders ? print_orders_verbose : print_list_verbose)(std::cout, o->planted);
        } else {
          (o->orders ? print_orders : print_list)(std::cout, o->planted, output_width());
        }
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
