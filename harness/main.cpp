#include "common/process.hpp"
#include "harness/commands/cli.hpp"

int main(int argc, char** argv) {
  gsofa::guard_descriptors();
  return gsofa::run_program(argc, argv);
}
