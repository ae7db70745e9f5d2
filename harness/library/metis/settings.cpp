#include "harness/library/metis/settings.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "common/error.hpp"
#include "common/mpi_launcher.hpp"
#include "common/process.hpp"

namespace gsofa::metis_abi {

namespace {

// Fewer entries are ordered before more threads would have saved time.
constexpr std::int64_t most_entries_of_one_thread = 100'000;

void refuse(const char* name, std::string_view value, const char* accepted) {
  say_once(std::string(name) + " is '" + std::string(value) + "', not " + accepted +
           ": the default is used");
}

}  // namespace

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_parallel_job() { return size_of_job().of_job > 1; }

bool is_verbose() { return variable("GSOFA_VERBOSE") == "1"; }

settings read_settings() {
  settings out;
  const std::string_view metis = variable("GSOFA_METIS");
  out.off = metis == "off";
  if (!metis.empty() && metis != "on" && !out.off) refuse("GSOFA_METIS", metis, "on or off");
  out.verbose = is_verbose();
  if (const std::string_view order = variable("GSOFA_ORDER"); !order.empty()) {
    try {
      out.order = order_choice(std::string(order));
    } catch (const invalid_input& e) {
      say_once("GSOFA_ORDER: " + std::string(e.what()) + ": the default is used");
    }
  }
  const std::string_view reuse = variable("GSOFA_REUSE");
  out.adapts = reuse == "adapt" && !is_parallel_job();
  if (reuse == "adapt" && !out.adapts) {
    say_once(
        "GSOFA_REUSE=adapt: the ranks of a job need equal orders: equal graphs alone are reused");
  } else if (!reuse.empty() && !out.adapts) {
    std::size_t mebibytes = 0;
    const auto [rest, fault] = std::from_chars(reuse.begin(), reuse.end(), mebibytes);
    const bool is_number = fault == std::errc() && rest == reuse.end() && mebibytes < 1 << 30;
    if (is_number || reuse == "off") {
      out.reuse = mebibytes << 20;
    } else {
      refuse("GSOFA_REUSE", reuse, "off, adapt or a number of MiB");
    }
  }
  const auto take = [](int& to, int (*number)()) {
    try {
      to = number();
    } catch (const input_error& e) {
      say_once(e.what() + std::string(": the default is used"));
    }
  };
  take(out.threads, threads_of_setting);
  take(out.factorizations, factorizations_of_setting);
  return out;
}

int threads_for(const settings& s, std::int64_t entries) {
  if (s.threads > 0) return s.threads;
  return entries <= most_entries_of_one_thread ? 1 : threads_of_process();
}

void say(const std::string& text) {
  const std::string line = "gsofa: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

void say_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(text).second) say(text);
}

}  // namespace gsofa::metis_abi
