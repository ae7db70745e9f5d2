#include "harness/commands/case_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>

#include "common/file.hpp"
#include "common/matrix_market.hpp"
#include "common/mpi_context.hpp"
#include "common/text.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/status.hpp"
#include "harness/run/terminal.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

using side = text_table::align;

std::vector<text_table::column> columns(bool with_matrix) {
  std::vector<text_table::column> c;
  if (with_matrix) c.push_back({.title = "matrix"});
  c.push_back({.title = "variant"});
  c.push_back({.title = "status", .status = true});
  c.push_back({.title = "median ms", .side = side::right});
  c.push_back({.title = "min ms", .side = side::right, .leave_out = 2});
  c.push_back({.title = "nnz_l", .side = side::right, .leave_out = 4});
  c.push_back({.title = "nnz_u", .side = side::right, .leave_out = 3});
  c.push_back({.title = "fill", .side = side::right});
  c.push_back({.title = "supernodes", .side = side::right, .leave_out = 1});
  c.push_back({.title = "note", .words = true});
  return c;
}

std::vector<std::string> table_row(const prepared_pattern& a, const planned_case& c,
                                   const case_outcome& o, bool with_matrix) {
  std::vector<std::string> cells;
  if (with_matrix) cells.push_back(marked_name(a.origin()));
  cells.push_back(c.request.info->name);
  cells.emplace_back(to_string(o.judged.status));
  if (o.samples_s.empty()) {
    cells.insert(cells.end(), {"-", "-"});
  } else {
    cells.push_back(milliseconds(o.samples_s[median_index(o.samples_s)]));
    cells.push_back(milliseconds(*std::ranges::min_element(o.samples_s)));
  }
  if (o.last) {
    cells.push_back(with_commas(o.last->nnz_l));
    cells.push_back(with_commas(o.last->nnz_u));
    cells.push_back(with_commas(o.last->nnz_l + o.last->nnz_u - a.view().nnz()));
  } else {
    cells.insert(cells.end(), {"-", "-", "-"});
  }
  const bool supernodes = o.last && o.wants.has(want::supernodes);
  cells.push_back(supernodes ? with_commas(static_cast<long long>(o.last->supernode_starts.size()))
                             : "-");
  std::string note = o.judged.reason;
  if (note.empty() && o.verify_mode != "none") note = "by " + o.verify_mode;
  if (const auto reported = o.derived.find("reported_us"); reported != o.derived.end()) {
    const double seconds = static_cast<double>(reported->second) / 1e6;
    note += "; the program reports " + milliseconds(seconds) + " ms";
  }
  cells.push_back(note);
  return cells;
}

// As --order reads it: an old number by new position, from 0.
void write_permutation(const std::filesystem::path& file, std::span<const index_t> order,
                       const std::string& comment) {
  text_output out(file);
  out.write("% " + one_line(comment) + ", both from 0\n");
  for (const index_t v : order) out.write(fmt::format("{}\n", v));
  out.commit();
}

}  // namespace

case_session::case_session(session_info session, output_options output)
    : session_(std::move(session)),
      output_(std::move(output)),
      table_(columns(output_.matrix_column)) {
  mpi_context::world().on_root([&] {
    if (output_.resume && !output_.out.empty()) {
      known_ = recorded_keys(output_.out);
      const std::string mended = mend_last_line(output_.out);
      if (!mended.empty()) std::fprintf(stderr, "%s\n", one_line(mended).c_str());
    }
    if (!output_.out.empty()) file_.emplace(output_.out);
    if (!output_.pattern_out.empty()) create_folder(output_.pattern_out);
  });
  if (mpi_context::world().ranks() == 1) interrupts_.emplace([this] { stop_early(); });
}

void case_session::stop_early() const {
  if (errors_on_terminal()) std::fputs("\r\x1b[K", stderr);
  print_table();
  std::cout.flush();
  std::string words;
  for (const std::string& word : session_.argv) words += shell_quoted(one_line(word)) + " ";
  const bool resumes = std::ranges::find(session_.argv, "--resume") != session_.argv.end();
  const std::string rest =
      output_.out.empty()
          ? "with --out FILE.jsonl records are kept, and --resume goes on with the rest"
          : "the rest: " + words + (resumes ? "" : "--resume");
  std::fprintf(stderr, "interrupted, %s cases done; %s\n",
               expected_ > 0 ? fmt::format("{} of {}", done_, expected_).c_str()
                             : std::to_string(done_).c_str(),
               rest.c_str());
}

bool case_session::already_recorded(const prepared_pattern& a, const case_request& request) const {
  if (known_.done.empty()) return false;
  return known_.done.contains(record_key(make_record(session_, a, request, case_outcome(), false)));
}

void case_session::run(const prepared_pattern& a, const std::vector<planned_case>& cases,
                       verify_mode verify) {
  mpi_context& j = mpi_context::world();
  std::map<index_t, std::unique_ptr<verifier>> verifiers;
  auto run_one = [&](const planned_case& c, const case_request& request) {
    if (!c.skip_reason.empty()) return skipped_case(c.skip_reason);
    const index_t chunk = request.settings.chunk_size;
    auto& check = verifiers[chunk];
    if (!check) check = std::make_unique<verifier>(a, verify, chunk, request.settings.threads);
    auto on_hang = [&](const case_outcome& stuck) {
      if (!j.root()) return;
      report(a, c, stuck);
      print_table();
      std::cout.flush();
    };
    if (!j.root() || !errors_on_terminal()) return run_case(a, request, *check, on_hang);
    progress_.begin(fmt::format("[{}/{}] {} {}", done_ + 1, std::max(expected_, done_ + 1),
                                one_line(marked_name(a.origin())), request.info->name),
                    runs_of(request.trials));
    const status_line shown([this] { return progress_.text(); });
    return run_case(a, request, *check, on_hang, &progress_);
  };
  auto finish = [&](const planned_case& c, const case_outcome& outcome) {
    const auto holding =
        interrupts_ ? interrupts_->lock() : std::unique_lock<std::recursive_mutex>();
    ++done_;
    if (!output_.pattern_out.empty() && is_well(outcome)) {
      j.collective_try([&] { write_pattern(a, c.request, outcome); });
    }
    report(a, c, outcome);
  };
  std::vector<const planned_case*> turns;
  for (const auto& c : cases) {
    bool known = already_recorded(a, c.request);
    j.broadcast(known);
    if (known) {
      ++done_;
      ++resumed_;
    } else if (c.request.trials.interleave) {
      turns.push_back(&c);
    } else {
      finish(c, run_one(c, c.request));
    }
  }
  std::map<const planned_case*, std::vector<case_outcome>> rounds;
  std::set<const planned_case*> finished;
  for (int round = 0; finished.size() < turns.size(); ++round) {
    for (const planned_case* c : turns) {
      if (finished.contains(c)) continue;
      auto& mine = rounds[c];
      case_request once = c->request;
      once.trials.repeat = 1;
      mine.push_back(run_one(*c, once));
      bool is_last = is_last_round(c->request.trials, round + 1, mine.back());
      j.broadcast(is_last);
      if (!is_last) continue;
      finished.insert(c);
      finish(*c, merged(mine));
      mine.clear();
    }
    // A drift of the machine does not favour those that stand first.
    std::ranges::reverse(turns);
  }
}

void case_session::skip(const std::vector<planned_case>& cases) {
  for (const auto& c : cases) {
    ++done_;
    ++skipped_unseen_;
    ++totals_[run_status::skipped];
    skipped_[one_line(c.skip_reason)].insert(c.request.info->name);
  }
}

void case_session::report(const prepared_pattern& a, const planned_case& c,
                          const case_outcome& outcome) {
  const auto holding = interrupts_ ? interrupts_->lock() : std::unique_lock<std::recursive_mutex>();
  ++totals_[outcome.judged.status];
  if (!mpi_context::world().root()) return;
  if (!outcome.layout.empty()) {
    std::fprintf(stderr, "%s: %s\n", c.request.info->name.c_str(),
                 one_line(outcome.layout).c_str());
  }
  const json record = make_record(session_, a, c.request, outcome, output_.series);
  // With --resume a case that was skipped before and is skipped again has its record.
  const bool again = outcome.judged.status == run_status::skipped && !known_.skipped.empty() &&
                     known_.skipped.contains(record_key(record));
  if (file_ && !again) file_->append(record);
  if (output_.json) std::cout << printed_.lines_of(record) << std::flush;
  if (outcome.judged.status == run_status::skipped) {
    // The list below the table has the reason once.
    skipped_[one_line(outcome.judged.reason)].insert(c.request.info->name);
    ++skipped_here_;
    return;
  }
  load_ = std::max(load_, outcome.before.load);
  table_.add(table_row(a, c, outcome, output_.matrix_column));
  std::string line;
  if (expected_ > 0) line += progress();
  line += fmt::format("{} {}: {}", marked_name(a.origin()), c.request.info->name,
                      to_string(outcome.judged.status));
  if (!outcome.samples_s.empty()) {
    line += fmt::format(" {} ms", milliseconds(outcome.samples_s[median_index(outcome.samples_s)]));
  }
  if (!outcome.judged.reason.empty()) line += " (" + outcome.judged.reason + ")";
  std::fprintf(stderr, "%s\n", one_line(std::move(line)).c_str());
}

// "[3/90, 5 min left] ", if the remaining cases take as long as those that ran so far.
std::string case_session::progress() const {
  const auto ran = static_cast<double>(done_ - skipped_here_) - resumed_ - skipped_unseen_;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const double left = elapsed.count() / ran * static_cast<double>(expected_ - done_);
  if (done_ == expected_ || ran < 1) return fmt::format("[{}/{}] ", done_, expected_);
  return fmt::format("[{}/{}, {} left] ", done_, expected_, duration_text(left));
}

void case_session::write_pattern(const prepared_pattern& a, const case_request& request,
                                 const case_outcome& outcome) const {
  if (!outcome.last || !outcome.wants.has(want::pattern)) return;
  std::string base = file_name_of(a.origin().name) + "." + file_name_of(request.info->name);
  const mpi_context& j = mpi_context::world();
  if (outcome.last->pattern_rows) {
    // Every rank writes the rows that it has; their union is the pattern.
    base += fmt::format(".part{:05}of{:05}", j.rank(), j.ranks());
    text_output rows(output_.pattern_out / (base + ".rows.txt"));
    for (const index_t i : *outcome.last->pattern_rows) rows.write(fmt::format("{}\n", i + 1));
    rows.commit();
  }
  const std::string comment = marked_name(a.origin()) + ", row " + a.origin().match + ", col " +
                              a.origin().order + ", by " + request.info->name;
  const char* const suffix = output_.compress_patterns ? ".gz" : "";
  write_matrix_market(output_.pattern_out / (base + ".L.mtx" + suffix), outcome.last->l,
                      "strictly lower part of L+U of " + comment);
  write_matrix_market(output_.pattern_out / (base + ".U.mtx" + suffix), outcome.last->u,
                      "upper part with the diagonal of L+U of " + comment);
  if (!j.root()) return;
  const std::string matrix = file_name_of(a.origin().name);
  write_permutation(output_.pattern_out / (matrix + ".row_order.perm"), a.row_order(),
                    "row k of L and U is this row of " + marked_name(a.origin()));
  write_permutation(output_.pattern_out / (matrix + ".col_order.perm"), a.col_order(),
                    "column k of L and U is this column of " + marked_name(a.origin()));
}

void case_session::print_table() const {
  if (output_.json || !mpi_context::world().root()) return;
  if (!table_.empty()) table_.print_fitting(std::cout);
  const std::string word = output_has_colour() ? coloured_status("skipped") : "skipped";
  for (const auto& [reason, names] : skipped_) {
    std::cout << fmt::format("{}: {} ({})\n", word, fmt::join(names, ", "), reason);
  }
  if (const int cores = this_machine().online_threads; load_ > cores) {
    std::cout << fmt::format("the machine was loaded: load {:.1f} on {} cores\n", load_, cores);
  }
}

exit_code case_session::code() const {
  auto any = [&](run_status s) { return totals_.contains(s); };
  if (any(run_status::fail)) return exit_code::verification_failed;
  if (any(run_status::timeout) || any(run_status::oom) || any(run_status::error)) {
    return exit_code::run_failed;
  }
  return exit_code::ok;
}

}  // namespace gsofa
