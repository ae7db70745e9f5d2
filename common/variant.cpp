#include "common/variant.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/command_methods.hpp"
#include "common/text.hpp"

namespace gsofa {

std::vector<std::string> want_set::names() const {
  std::vector<std::string> out;
  if (has(want::counts)) out.emplace_back("counts");
  if (has(want::digest)) out.emplace_back("digest");
  if (has(want::pattern)) out.emplace_back("pattern");
  if (has(want::supernodes)) out.emplace_back("supernodes");
  return out;
}

std::string want_set::text() const {
  std::string out;
  for (const auto& name : names()) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "totals" : out;
}

want want_set::parse(const std::string& name) {
  if (name == "counts") return want::counts;
  if (name == "digest") return want::digest;
  if (name == "pattern") return want::pattern;
  if (name == "supernodes") return want::supernodes;
  throw input_error("unknown result '" + name + "': one of counts, digest, pattern, supernodes");
}

std::string option_spec::type_name() const {
  static constexpr const char* names[] = {"bool", "int", "choice"};
  return names[default_value.index()];
}

std::string to_string(const option_value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  return std::get<std::string>(value);
}

namespace {

option_value parse_option(const option_spec& spec, const std::string& text) {
  const std::string where = "option " + spec.name + ": ";
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (text == "true" || text == "on" || text == "1" || text == "yes") return true;
    if (text == "false" || text == "off" || text == "0" || text == "no") return false;
    throw input_error(where + "'" + text + "' is not true or false");
  }
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    std::int64_t v = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (ec != std::errc{} || end != text.data() + text.size()) {
      throw input_error(where + "'" + text + "' is not an integer");
    }
    if (v == -1 && spec.minimum > -1) return spec.default_value;
    if (v < spec.minimum || v > spec.maximum) {
      throw input_error(where + text + " is outside [" + std::to_string(spec.minimum) + ", " +
                        std::to_string(spec.maximum) + "]");
    }
    return v;
  }
  if (std::ranges::find(spec.choices, text) == spec.choices.end()) {
    std::string list;
    for (const auto& c : spec.choices) list += (list.empty() ? "" : ", ") + c;
    throw input_error(where + "'" + text + "' is none of " + list);
  }
  return text;
}

const std::vector<variant_info>& registry() { return detail::described<variant_info>("variants"); }

}  // namespace

option_set::option_set(const std::vector<option_spec>& specs) {
  for (const auto& s : specs) values_[s.name] = s.default_value;
}

void option_set::set(const std::vector<option_spec>& specs, const std::string& name,
                     const std::string& value) {
  const auto spec = std::ranges::find(specs, name, &option_spec::name);
  if (spec == specs.end()) {
    std::string list;
    for (const auto& s : specs) list += (list.empty() ? "" : ", ") + s.name;
    throw input_error("unknown option '" + name + "'" +
                      (list.empty() ? ": the variant has none" : ": the variant has " + list));
  }
  values_[name] = parse_option(*spec, value);
}

bool option_set::flag(const std::string& name) const { return std::get<bool>(values_.at(name)); }
std::int64_t option_set::integer(const std::string& name) const {
  return std::get<std::int64_t>(values_.at(name));
}
const std::string& option_set::choice(const std::string& name) const {
  return std::get<std::string>(values_.at(name));
}

double run_timed(variant& v, run_context& context) {
  context.phases.start(phase_id::traverse);
  v.run(context);
  return context.phases.stop();
}

void variant::collect_into(want_set wants, result& out) { out = collect(wants); }

factor_profile variant::profile(index_t cells) {
  const result r = collect(want::pattern);
  return profile_of(r.l, r.u, cells);
}

supernodal_pattern variant::supernodal(const supernode_rule& rule) {
  const result r = collect(want::pattern);
  return supernodal_of(r.l, r.u, rule);
}

void variant::supernodal_into(const supernode_rule& rule, supernodal_pattern& out) {
  out = supernodal(rule);
}

result run_once(variant& v, want_set wants, run_context& context) {
  run_timed(v, context);
  return v.collect(wants);
}

run_settings settings_with(const variant_info& info, want_set wants,
                           const std::map<std::string, std::string>& options) {
  run_settings settings{.options = option_set(info.options), .wants = wants};
  for (const auto& [name, value] : options) settings.options.set(info.options, name, value);
  return settings;
}

const std::vector<variant_info>& all_variants() { return registry(); }

const variant_info& find_variant(std::string_view name) {
  if (is_command(name)) return find_command<variant_info>(std::string(name));
  const auto& variants = registry();
  const auto hit = std::ranges::find(variants, name, &variant_info::name);
  if (hit != variants.end()) return *hit;
  std::vector<std::string> names;
  for (const auto& v : variants) {
    if (v.planted.empty()) names.push_back(v.name);
  }
  const std::string hint = nearest(name, names);
  throw input_error("unknown variant '" + std::string(name) + "'" +
                    (hint.empty() ? "" : "; did you mean '" + hint + "'?") +
                    " (`gsofa list` shows all)");
}

std::vector<const variant_info*> find_variants(const std::string& name_or_pattern) {
  if (is_command(name_or_pattern) || name_or_pattern.find_first_of("*?[") == std::string::npos) {
    return {&find_variant(name_or_pattern)};
  }
  std::vector<const variant_info*> found;
  for (const auto& v : registry()) {
    if (!v.orders && fnmatch(name_or_pattern.c_str(), v.name.c_str(), 0) == 0) {
      found.push_back(&v);
    }
  }
  if (found.empty()) {
    throw input_error("no variant matches '" + name_or_pattern + "' (`gsofa list` shows all)");
  }
  return found;
}

}  // namespace gsofa
