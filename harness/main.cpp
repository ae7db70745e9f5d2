#include "harness/cli.hpp"

int main(int argc, char** argv) { return gsofa::run_program(argc, argv); }
