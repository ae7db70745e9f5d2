#include "harness/claim_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "common/variant.hpp"
#include "harness/datasets.hpp"
#include "harness/json_lines.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

constexpr const char* trusted = "cpu_gilbert_peierls";

// A bundled file may have the name of a matrix of the paper.
std::string abbreviation(const std::string& name) {
  for (const auto& d : dataset_catalog::repository().entries()) {
    if (!d.abbr.empty() && (d.name == name || d.abbr == name)) return d.abbr;
  }
  return "";
}

// "gen:harmonic:nodes=..." -> "gen:harmonic:"
std::string family(const std::string& spec) {
  const auto colon = spec.find(':', spec.find(':') + 1);
  return spec.substr(0, colon == std::string::npos ? spec.size() : colon + 1);
}

bool usable(const json& r) {
  const std::string status = r.at("status");
  return status == "pass" ||
         (status == "unverified" && (r.at("device") == "peer" || r.at("variant") == trusted));
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

double median_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  return samples[(samples.size() - 1) / 2];
}

std::vector<double> ranks_of(const std::vector<double>& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return v[k]; });
  std::vector<double> rank(v.size());
  for (std::size_t a = 0; a < order.size();) {
    std::size_t b = a;
    while (b < order.size() && v[order[b]] == v[order[a]]) ++b;
    for (std::size_t k = a; k < b; ++k) rank[order[k]] = static_cast<double>(a + b - 1) / 2;
    a = b;
  }
  return rank;
}

// Correlation of v's ranks with 0, 1, ...; nothing if all are equal.
std::optional<double> rank_correlation(const std::vector<double>& v) {
  const auto ranks = ranks_of(v);
  const double mean = static_cast<double>(v.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double x = static_cast<double>(k) - mean;
    const double y = ranks[k] - mean;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::optional<double> number_at(const json& object, const std::string& key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

bool is_phase(const std::string& name) {
  for (int k = 0; k < static_cast<int>(phase_id::count_); ++k) {
    if (name == phase_name(static_cast<phase_id>(k))) return true;
  }
  return false;
}

const std::string& argument(const claim_leaf& leaf, std::size_t k) {
  if (leaf.arguments.size() <= k) {
    throw input_error(fmt::format("{}() needs {} arguments", leaf.name, k + 1));
  }
  return leaf.arguments[k];
}

}  // namespace

claim_records::claim_records(const std::vector<fs::path>& sources) {
  std::vector<fs::path> files;
  for (const auto& source : sources) {
    if (!fs::exists(source)) throw input_error(source.string() + ": no such file or folder");
    if (!fs::is_directory(source)) {
      files.push_back(source);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& f : fs::directory_iterator(source)) {
      if (f.path().extension() == ".jsonl") inside.push_back(f.path());
    }
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  for (const auto& file : files) {
    read_json_lines(file, [&](json line) { add(std::move(line)); });
  }
}

void claim_records::add(json line) {
  if (line.contains("simulated")) {
    require_fields(line, {{"/matrix", json_type::text},
                          {"/batch_barrier", json_type::flag},
                          {"/n", json_type::integer},
                          {"/makespan_s", json_type::number}});
    simulated_.push_back(std::move(line));
    return;
  }
  if (line.contains("dram_gb_per_s")) {
    require_fields(line, {{"/matrix", json_type::text}, {"/variant", json_type::text}});
    profiles_.push_back({abbreviation(line.at("matrix")), std::move(line)});
    return;
  }
  require_fields(line, {{"/matrix/name", json_type::text},   {"/matrix/stand_in", json_type::flag},
                        {"/variant", json_type::text},       {"/device", json_type::text},
                        {"/status", json_type::text},        {"/host", json_type::text},
                        {"/cpu", json_type::text},           {"/gpus", json_type::array},
                        {"/git/sha", json_type::text},       {"/mpi/ranks", json_type::integer},
                        {"/options", json_type::object},     {"/threads", json_type::integer},
                        {"/chunk_size", json_type::integer}, {"/wants", json_type::array},
                        {"/counting", json_type::flag},      {"/samples_s", json_type::numbers},
                        {"/phases_s", json_type::object},    {"/result", json_type::object},
                        {"/counters", json_type::object},    {"/mem", json_type::object},
                        {"/series", json_type::object, true}});
  for (const auto& gpu : line.at("gpus")) require_fields(gpu, {{"/name", json_type::text}});
  if (line.contains("series")) {
    for (const auto& [name, values] : line.at("series").items()) {
      if (!values.is_array() || !std::ranges::all_of(values, &json::is_number)) {
        throw input_error("not a record: 'series." + name + "' is not an array of numbers");
      }
    }
  }
  const std::string matrix = abbreviation(line.at("matrix").at("name"));
  if (matrix.empty() || !usable(line)) return;
  if (!entries_.empty() && (line.at("host") != entries_.front().record.at("host") ||
                            line.at("cpu") != entries_.front().record.at("cpu"))) {
    throw input_error("of another machine than the records before it");
  }
  entries_.push_back({matrix, std::move(line)});
}

const json* claim_records::find(const claim_leaf& leaf, const std::string& matrix,
                                const std::string& variant, bool counting, bool with_series) const {
  const variant_info& info = find_variant(variant);
  option_set options(info.options);
  std::map<std::string, std::string> fixed;
  for (const auto& [key, value] : leaf.settings) {
    if (key == "ranks" || key == "threads" || key == "chunk_size") {
      if (value.find_first_not_of("0123456789") != std::string::npos) {
        throw input_error(key + "=" + value + ": not a number");
      }
      fixed[key] = value;
    } else {
      options.set(info.options, key, value);
    }
  }
  const std::string ranks = fixed.contains("ranks") ? fixed["ranks"] : "1";
  const std::string chunk = fixed.contains("chunk_size") ? fixed["chunk_size"] : "128";
  const json* best = nullptr;
  for (const auto& e : entries_) {
    const json& r = e.record;
    if (e.matrix != matrix || r.at("variant") != variant || r.at("counting") != counting) continue;
    if (r.contains("series") != with_series && with_series) continue;
    if (!counting && r.at("samples_s").empty()) continue;
    const json& wants = r.at("wants");
    if (std::ranges::find(wants, json("pattern")) != wants.end()) continue;
    if (text_of(r.at("mpi").at("ranks")) != ranks || text_of(r.at("chunk_size")) != chunk) continue;
    if (fixed.contains("threads") && text_of(r.at("threads")) != fixed["threads"]) continue;
    // An option that came later has its default in the records before it.
    const bool same = std::ranges::all_of(options.values(), [&](const auto& o) {
      const auto it = r.at("options").find(o.first);
      return it == r.at("options").end() ? !leaf.settings.contains(o.first)
                                         : text_of(*it) == to_string(o.second);
    });
    if (!same) continue;
    if (best != nullptr && r.at("threads") != best->at("threads")) {
      throw input_error(leaf.name + "(" + variant + "): records differ in threads; name threads=");
    }
    best = &r;
  }
  return best;
}

const json* claim_records::find_simulated(const claim_leaf& leaf, const std::string& matrix) const {
  const dataset* known = dataset_catalog::repository().find(matrix);
  const json* largest = nullptr;
  for (const auto& r : simulated_) {
    if (known == nullptr ||
        (r.at("matrix") != known->name && family(r.at("matrix")) != family(known->stand_in))) {
      continue;
    }
    if (r.at("batch_barrier") != false) continue;
    const bool same = std::ranges::all_of(leaf.settings, [&](const auto& s) {
      const auto it = r.find(s.first);
      return it != r.end() && text_of(*it) == s.second;
    });
    if (same && (largest == nullptr || r.at("n") > largest->at("n"))) largest = &r;
  }
  return largest;
}

std::optional<double> claim_records::answer(const claim_leaf& leaf,
                                            const std::string& matrix) const {
  if (leaf.name == "simulated") {
    const json* r = find_simulated(leaf, matrix);
    return r == nullptr ? std::nullopt : number_at(*r, "makespan_s");
  }
  if (leaf.name == "matrix") {
    const std::string& what = argument(leaf, 0);
    if (what.starts_with("paper.")) {
      const dataset* known = dataset_catalog::repository().find(matrix);
      const auto& numbers = known->paper;
      const auto it = numbers.find(what.substr(6));
      return it == numbers.end() ? std::nullopt : std::optional(it->second);
    }
    for (const auto& e : entries_) {
      if (e.matrix == matrix) return number_at(e.record.at("matrix"), what);
    }
    return std::nullopt;
  }
  if (leaf.name == "profile") {
    for (const auto& e : profiles_) {
      if (e.matrix == matrix && e.record.at("variant") == argument(leaf, 1)) {
        return number_at(e.record, argument(leaf, 0));
      }
    }
    return std::nullopt;
  }
  const bool timed = leaf.name == "time" || leaf.name == "bare";
  const std::string& variant = argument(leaf, timed ? 0 : 1);
  const bool series = leaf.name.starts_with("series_");
  const json* r = find(leaf, matrix, variant, series || leaf.name == "counter", series);
  if (r == nullptr) return std::nullopt;
  if (timed) {
    const double digests =
        leaf.name == "bare"
            ? number_at(r->at("phases_s"), phase_name(phase_id::compact)).value_or(0)
            : 0;
    return median_of(r->at("samples_s")) - digests;
  }
  const std::string& what = argument(leaf, 0);
  if (leaf.name == "phase") {
    if (!is_phase(what)) throw input_error("there is no phase '" + what + "'");
    return number_at(r->at("phases_s"), what).value_or(0);
  }
  if (leaf.name == "result") return number_at(r->at("result"), what);
  if (leaf.name == "counter") return number_at(r->at("counters"), what);
  if (leaf.name == "mem") {
    const auto dot = what.find('.');
    if (dot == std::string::npos) return number_at(r->at("mem"), what);
    const json& memory = r->at("mem");
    const auto group = memory.find(what.substr(0, dot));
    if (group == memory.end()) throw input_error("there is no '" + what + "' in mem");
    return number_at(*group, what.substr(dot + 1));
  }
  if (!series) throw input_error("there is no " + leaf.name + "()");
  const std::vector<double> values = r->at("series").value(what, std::vector<double>());
  if (values.empty()) return std::nullopt;
  if (leaf.name == "series_rank") return rank_correlation(values);
  if (leaf.name == "series_max") return *std::ranges::max_element(values);
  double least = 0;
  for (const double v : values) {
    if (v > 0 && (least == 0 || v < least)) least = v;
  }
  return least > 0 ? std::optional(least) : std::nullopt;
}

bool claim_records::is_stand_in(const std::string& matrix) const {
  const auto it = std::ranges::find(entries_, matrix, &entry::matrix);
  if (it != entries_.end()) return it->record.at("matrix").at("stand_in").get<bool>();
  const dataset* d = dataset_catalog::repository().find(matrix);
  return d == nullptr || !dataset_catalog::repository().file_of(*d).has_value();
}

std::string claim_records::machine() const {
  if (entries_.empty()) return "no machine";
  std::size_t most = 0;
  std::string name;
  for (const auto& e : entries_) {
    const json& gpus = e.record.at("gpus");
    if (gpus.size() <= most) continue;
    most = gpus.size();
    name = gpus[0].at("name");
  }
  const std::string cpu = entries_.front().record.at("cpu");
  return most == 0 ? cpu : fmt::format("{} x {}, {}", most, name, cpu);
}

std::vector<std::string> claim_records::commits() const {
  std::set<std::string> found;
  for (const auto& e : entries_) found.insert(e.record.at("git").at("sha"));
  return {found.begin(), found.end()};
}

}  // namespace gsofa
