#include <cstdlib>

#include "common/process.hpp"
#include "harness/commands/cli.hpp"

int main(int argc, char** argv) {
  gsofa::guard_descriptors();
  // CUDA loads all kernels with the context, which takes a few milliseconds more. By default it
  // loads each kernel before its first launch: together 2 ms of the first run.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  return gsofa::run_program(argc, argv);
}
