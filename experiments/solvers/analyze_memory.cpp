// analyze_memory SPEC@ORDER...: peak resident memory of gsofa::analyze (counts alone, one thread)
// less that before the call, and what gsofa::estimate expects, in bytes. One line of CSV per case.
//
// SPEC as in gen:SPEC, for example grid5:nx=1000@metis. A case runs in a
// process of its own, which begins with the pattern alone.

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"

namespace {

std::int64_t resident_bytes() {
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return std::int64_t{1024} * used.ru_maxrss;
}

// The line of a case; the parent holds the pattern, so that nothing but the call adds to the peak.
void measure(const std::string& spec, const std::string& order) {
  const gsofa::pattern a = gsofa::generate(spec);
  const gsofa::csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  const gsofa::analysis_options options{
      .device = gsofa::compute_device::cpu, .threads = 1, .order = order};
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    malloc_trim(0);  // what the generator freed
    const std::int64_t before = resident_bytes();
    gsofa::analyze(view, options);
    const std::int64_t used = peak_bytes() - before;
    const gsofa::fill_estimate expected = gsofa::estimate(view, options);
    std::printf("\"%s\",%d,%lld,%s,%lld,%lld\n", spec.c_str(), a.n_rows,
                static_cast<long long>(a.nnz()), order.c_str(), static_cast<long long>(used),
                static_cast<long long>(expected.result_bytes + expected.working_bytes));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(spec + ": the analysis failed");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::printf("pattern,n,nnz,order,measured_bytes,estimated_bytes\n");
    for (int k = 1; k < argc; ++k) {
      const std::string word = argv[k];
      const std::size_t at = word.find('@');
      if (at == std::string::npos) {
        std::fprintf(stderr, "analyze_memory: %s: expected SPEC@ORDER\n", word.c_str());
        return 2;
      }
      measure(word.substr(0, at), word.substr(at + 1));
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "analyze_memory: %s\n", e.what());
    return 1;
  }
}
