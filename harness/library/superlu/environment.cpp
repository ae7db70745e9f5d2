#include "harness/library/superlu/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/process.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/superlu/superlu_headers.hpp"

namespace gsofa::superlu {

namespace {

// Fewer entries are searched before other threads, or other processes, would have begun.
bool are_few(std::int64_t entries) { return entries < 100'000; }

}  // namespace

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

call_mode mode_of_calls() {
  const std::string_view mode = setting("GSOFA_SUPERLU");
  if (mode.empty() || mode == "on") return call_mode::on;
  if (mode == "off") return call_mode::off;
  if (mode == "verbose") return call_mode::verbose;
  throw invalid_input("GSOFA_SUPERLU is '" + std::string(mode) + "': one of on, off, verbose");
}

void give_up(std::string_view routine, const std::string& why) {
  std::string line = "gsofa: " + std::string(routine) + ": " + why + "\n";
  superlu_abort_and_exit_dist(line.data());
  std::abort();  // an abort of the user's own may return
}

std::string job() {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}) {
    if (const std::string value = setting(name); !value.empty()) return value;
  }
  const std::string step = setting("SLURM_STEP_ID");
  if (!step.empty()) return setting("SLURM_JOB_ID") + ("." + step);
  return "p" + std::to_string(getppid());
}

std::chrono::seconds limit_of_waiting() {
  const int given = std::atoi(setting("GSOFA_SUPERLU_WAIT"));
  return std::chrono::seconds(given > 0 ? given : 600);
}

bool shares(std::int64_t entries) {
  const std::string_view wanted = setting("GSOFA_SUPERLU_SHARE");
  if (wanted == "0" || wanted == "1") return wanted == "1";
  return !are_few(entries);
}

std::chrono::microseconds patience(std::int64_t entries) {
  return std::chrono::microseconds(std::clamp<std::int64_t>(entries / 250, 200, 20000));
}

helper own_processors() {
  helper own;
  CPU_ZERO(&own.processors);
  sched_getaffinity(0, sizeof own.processors, &own.processors);
  const int given = threads_of_setting();
  own.threads = given > 0 ? given : threads_of_process();
  return own;
}

int threads_for(std::int64_t entries, int available) {
  return are_few(entries) && threads_of_setting() <= 0 ? 1 : available;
}

lent_processors::lent_processors(const std::vector<helper>& lenders) : all_(own_processors()) {
  if (lenders.empty()) return;
  own_ = all_.processors;
  const int given = threads_of_setting();
  const int most_of_one = given > 0 ? given : CPU_SETSIZE;
  for (const helper& other : lenders) {
    CPU_OR(&all_.processors, &all_.processors, &other.processors);
    all_.threads += std::clamp(other.threads, 1, most_of_one);
  }
  if (given <= 0) {
    all_.threads = std::min(all_.threads, std::max(1, CPU_COUNT(&all_.processors)));
  }
  changed_ = sched_setaffinity(0, sizeof all_.processors, &all_.processors) == 0;
}

lent_processors::~lent_processors() {
  if (changed_) sched_setaffinity(0, sizeof own_, &own_);
}

}  // namespace gsofa::superlu
