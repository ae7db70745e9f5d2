#include "harness/record/record.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "common/cuda_device.hpp"
#include "common/mpi_context.hpp"
#include "harness/run/build_info.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

// A path below the working directory relative to it, other words as they are.
std::string relative_to_here(std::string word) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string() + "/";
  return word.starts_with(here) ? word.substr(here.size()) : word;
}

json gpus_json() {
  json list = json::array();
  const auto& found = find_cuda_devices();
  for (const auto& d : found.devices) {
    list.push_back({{"index", d.index},
                    {"name", d.name},
                    {"memory_bytes", d.memory_bytes},
                    {"compute_capability", d.compute_capability},
                    {"driver", found.driver},
                    {"driver_version", nvml::driver_version()},
                    {"runtime", found.runtime},
                    {"id", d.uuid.empty() ? "" : hashed(d.uuid)}});
  }
  return list;
}

json machine_json(const machine_state& before, const machine_state& after) {
  const machine_info& m = this_machine();
  auto state = [](const machine_state& s) {
    json gpus = json::array();
    for (const gpu_state& g : s.gpus) {
      gpus.push_back({{"sm_mhz", g.sm_mhz}, {"memory_mhz", g.memory_mhz}, {"celsius", g.celsius}});
    }
    return json{{"load", s.load}, {"cpu_mhz", s.cpu_mhz}, {"gpus", gpus}};
  };
  return {{"id", m.id},
          {"microcode", m.microcode},
          {"threads_usable", m.hardware_threads},
          {"threads_online", m.online_threads},
          {"before", state(before)},
          {"after", state(after)}};
}

json build_json() {
  const auto& b = this_build();
  return {{"version", b.version}, {"compiler", b.compiler}, {"gpu", gpu_build()}, {"nvcc", b.nvcc},
          {"flags", b.flags},     {"arch", b.arch},         {"type", b.type}};
}

json ordering_json(const prepared_pattern& a) {
  const provenance& p = a.origin();
  json j = {{"row", p.match},
            {"col", p.order},
            {"library", p.order_library},
            {"seed", p.seed},
            {"postordered", p.postordered},
            {"digest", hex(a.digest())},
            {"seconds", p.prepare_seconds}};
  if (!p.match_note.empty()) j["row_note"] = p.match_note;
  return j;
}

json mpi_json(const case_outcome& outcome) {
  const mpi_context& j = mpi_context::world();
  json m = {{"ranks", j.ranks()},
            {"map", j.uses_mpi() ? rank_map(j) : ""},
            {"nodes", j.nodes()},
            {"library", j.library()}};
  json phases = json::array();
  for (const auto& rank : outcome.rank_phases_s) phases.push_back(rank);
  m["rank_phases_s"] = phases;
  return m;
}

json result_json(const prepared_pattern& a, const case_outcome& outcome) {
  json r = json::object();
  if (!outcome.last) return r;
  const result& last = *outcome.last;
  r["nnz_l"] = last.nnz_l;
  r["nnz_u"] = last.nnz_u;
  r["fill"] = last.nnz_l + last.nnz_u - a.view().nnz();
  if (outcome.wants.has(want::supernodes)) r["supernodes"] = last.supernode_starts.size();
  if (outcome.wants.has(want::digest)) r["digest"] = hex(last.digest);
  return r;
}

// Least positive and largest value of a series by source, and Spearman's correlation of the values
// with the source; equal values share the mean of their ranks.
json statistics_of(const std::vector<double>& values) {
  json out = json::object();
  if (values.empty()) return out;
  double least = 0;
  for (const double v : values) {
    if (v > 0 && (least == 0 || v < least)) least = v;
  }
  if (least > 0) out["least_positive"] = least;
  out["most"] = *std::ranges::max_element(values);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return std::pair(values[k], k); });
  const double mean = (static_cast<double>(values.size()) - 1) / 2;
  double products = 0;
  double squares_of_ranks = 0;
  double squares_of_sources = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = (static_cast<double>(begin + end) - 1) / 2 - mean;
    for (std::size_t k = begin; k < end; ++k) {
      const double source = static_cast<double>(order[k]) - mean;
      products += rank * source;
      squares_of_ranks += rank * rank;
      squares_of_sources += source * source;
    }
  }
  if (squares_of_ranks > 0)
    out["rank_correlation"] = products / std::sqrt(squares_of_ranks * squares_of_sources);
  return out;
}

}  // namespace

session_info make_session(int argc, const char* const* argv) {
  session_info s;
  std::random_device entropy;
  std::string stamp = utc_now();
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  s.run_id = fmt::format("{}-{:08x}", stamp, entropy());
  s.argv.assign(argv, argv + argc);
  return s;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string json_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

json options_json(const option_set& options) {
  json out = json::object();
  for (const auto& [name, value] : options.values()) {
    std::visit([&, key = name](const auto& v) { out[key] = v; }, value);
  }
  return out;
}

json matrix_json(const pattern_view& a, const provenance& p) {
  return {{"name", p.name},
          {"n", a.n_rows},
          {"nnz", p.nnz_input},
          {"nnz_prepared", a.nnz()},
          {"diagonal_added", p.diagonal_added},
          {"sha256", p.sha256},
          {"source", relative_to_here(p.source)},
          {"stand_in", p.stand_in},
          {"kind", p.kind}};
}

json record_head(const session_info& session, const machine_state& before,
                 const machine_state& after) {
  const auto& host = this_machine();
  json r;
  r["schema"] = record_schema;
  r["run_id"] = session.run_id;
  r["time_utc"] = utc_now();
  r["argv"] = json::array();
  for (const std::string& word : session.argv) r["argv"].push_back(relative_to_here(word));
  r["experiment"] = session.experiment;
  r["git"] = {{"sha", this_build().git_sha}, {"dirty", this_build().git_dirty}};
  r["build"] = build_json();
  r["host"] = host.host;
  r["cpu"] = host.cpu;
  r["gpus"] = gpus_json();
  r["machine"] = machine_json(before, after);
  return r;
}

json make_record(const session_info& session, const prepared_pattern& a,
                 const case_request& request, const case_outcome& outcome, bool series) {
  json r = record_head(session, outcome.before, outcome.after);
  r["mpi"] = mpi_json(outcome);
  r["matrix"] = matrix_json(a.view(), a.origin());
  r["ordering"] = ordering_json(a);
  r["variant"] = request.info->name;
  r["device"] = request.info->device;
  if (!request.info->library.empty()) r["library"] = request.info->library;
  r["options"] = options_json(request.settings.options);
  r["threads"] = request.settings.threads;
  r["chunk_size"] = request.settings.chunk_size;
  r["asked"] = request.settings.wants.names();
  r["wants"] = outcome.wants.names();
  r["counting"] = is_counting_build();
  r["verify"] = {{"mode", outcome.verify_mode}, {"seconds", outcome.verify_seconds}};
  const trial_plan& trials = request.trials;
  r["trials"] = {{"repeat", trials.repeat},     {"warmup", trials.warmup},
                 {"timeout_s", trials.timeout}, {"interleaved", trials.interleave},
                 {"sampling", "other_pattern"}, {"first_in_process", outcome.first_in_process}};
  if (trials.until > 0) r["trials"]["until"] = trials.until;
  r["status"] = to_string(outcome.judged.status);
  r["reason"] = outcome.judged.reason;
  r["samples_s"] = outcome.samples_s;
  r["prepare_s"] = outcome.prepare_s;
  r["collect_s"] = outcome.collect_s;
  r["phases_s"] = outcome.phases_s;
  r["result"] = result_json(a, outcome);
  json memory = {{"device_peak", outcome.device_peak_bytes},
                 {"device", json::object()},
                 {"predicted", json::object()}};
  if (outcome.host_peak_bytes) memory["host_peak"] = *outcome.host_peak_bytes;
  for (const auto& [name, bytes] : outcome.device_bytes) memory["device"][name] = bytes;
  for (const auto& [name, bytes] : outcome.predicted_bytes) memory["predicted"][name] = bytes;
  r["mem"] = memory;
  json derived = json::object();
  for (const auto& [name, value] : outcome.derived) derived[name] = value;
  r["derived"] = derived;
  json counters = json::object();
  for (const auto& [name, total] : outcome.counters.totals) counters[name] = total;
  r["counters"] = counters;
  if (!outcome.counters.series.empty()) {
    json statistics = json::object();
    for (const auto& [name, values] : outcome.counters.series)
      statistics[name] = statistics_of(values);
    r["series_stats"] = statistics;
  }
  if (series) {
    json lists = json::object();
    for (const auto& [name, values] : outcome.counters.series) lists[name] = values;
    r["series"] = lists;
  }
  return r;
}

std::string record_key(const json& record) {
  json key = json::array();
  key.push_back(record.at("git").at("sha"));
  key.push_back(record.at("git").at("dirty"));
  key.push_back(record.at("host"));
  key.push_back(record.at("matrix").at("name"));
  for (const char* name : {"row", "col", "digest"}) key.push_back(record.at("ordering").at(name));
  for (const char* name : {"variant", "options", "threads", "chunk_size", "counting"}) {
    key.push_back(record.at(name));
  }
  // The oldest records lack it, and then match nothing.
  key.push_back(record.value("asked", json()));
  key.push_back(record.at("mpi").at("ranks"));
  return json_line(key);
}

}  // namespace gsofa
