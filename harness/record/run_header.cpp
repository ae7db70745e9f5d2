#include "harness/record/run_header.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "common/error.hpp"

namespace gsofa {

namespace {

constexpr const char* header_kind = "run_header";
// What no record of a run changes.
constexpr std::array shared_fields{"argv", "experiment", "git", "build", "host", "cpu", "gpus"};

// An object whose remaining fields no record of a run changes.
struct partly_shared {
  const char* name;
  std::vector<const char*> own;  // fields that differ from record to record
};
const std::array<partly_shared, 2> partly_shared_fields{
    {{"machine", {"before", "after"}}, {"mpi", {"rank_phases_s"}}}};

void move_field(json& from, json& to, const char* name) {
  const auto field = from.find(name);
  if (field == from.end()) return;
  to[name] = std::move(*field);
  from.erase(name);
}

// Moves the shared fields out of a record, which keeps its own.
json header_of(json& record) {
  json header = {
      {"schema", record.at("schema")}, {"kind", header_kind}, {"run_id", record.at("run_id")}};
  for (const char* name : shared_fields) move_field(record, header, name);
  for (const auto& [name, own] : partly_shared_fields) {
    if (!record.contains(name)) continue;
    json mine = json::object();
    for (const char* field : own) move_field(record[name], mine, field);
    header[name] = std::exchange(record[name], std::move(mine));
  }
  return header;
}

bool is_text(const json& line, const char* name) {
  const auto field = line.find(name);
  return field != line.end() && field->is_string();
}

}  // namespace

std::string record_writer::lines_of(const json& record) {
  if (!is_text(record, "run_id")) return json_line(record) + "\n";
  json line = record;
  const json header = header_of(line);
  const std::string own = json_line(line) + "\n";
  const auto run_id = header.at("run_id").get<std::string>();
  if (run_id_ == run_id) return own;
  run_id_ = run_id;
  return json_line(header) + "\n" + own;
}

std::optional<json> record_reader::record_of(json line) {
  if (!is_text(line, "run_id")) return line;
  const std::string run = line.at("run_id");
  if (is_text(line, "kind") && line.at("kind") == header_kind) {
    line.erase("kind");
    headers_[run] = std::move(line);
    return std::nullopt;
  }
  if (line.contains("git")) return line;
  const auto header = headers_.find(run);
  if (header == headers_.end()) {
    throw input_error(fmt::format("not a record: no line before it is the run_header of {}", run));
  }
  json record = header->second;
  record.merge_patch(line);
  return record;
}

}  // namespace gsofa
