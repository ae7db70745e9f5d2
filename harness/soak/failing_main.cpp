#include <cstdlib>
#include <fstream>
#include <string>

#include "harness/cli.hpp"
#include "harness/soak/allocations.hpp"

// The program with allocations that fail. $GSOFA_FAIL_ALLOCATION is the number of the one that does
// ("17"; "17+": it and all after it), counted from the beginning of main(); the number of them all
// is written to the file that $GSOFA_COUNT_ALLOCATIONS names.
int main(int argc, char** argv) {
  gsofa::soak::allocation_rule rule;
  if (const char* text = std::getenv("GSOFA_FAIL_ALLOCATION")) {
    char* end = nullptr;
    rule.first = std::strtoll(text, &end, 10);
    rule.all_after = *end == '+';
  }
  gsofa::soak::watch_allocations(rule);
  const int code = gsofa::run_program(argc, argv);
  const std::int64_t count = gsofa::soak::unwatch_allocations();
  if (const char* file = std::getenv("GSOFA_COUNT_ALLOCATIONS"))
    std::ofstream(file) << count << '\n';
  return code;
}
