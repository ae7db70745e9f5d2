#include "common/mpi_launcher.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "common/error.hpp"

namespace gsofa {

namespace {

// The first variable that the launcher has set: Open MPI, MPICH and Intel MPI (PMI), srun with
// PMIx.
std::optional<int> number_in(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') {
      return std::atoi(text);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> launched_ranks() {
  if (const auto size = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})) return std::max(1, *size);
  // PMIx states the rank only; Slurm states the number of tasks of the step.
  if (number_in({"PMIX_RANK"})) return std::max(1, number_in({"SLURM_STEP_NUM_TASKS"}).value_or(1));
  return std::nullopt;
}

job_size size_of_job() {
  struct names {
    const char *of_node, *of_job;
  };
  constexpr std::array<names, 5> launchers{{
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"},
      {"MPI_LOCALNRANKS", "PMI_SIZE"},
      {"PMI_LOCAL_SIZE", "PMI_SIZE"},
      {"MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_SIZE"},
      {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS"},
  }};
  job_size size;
  for (const names& n : launchers) {
    size.of_job = std::max(1, number_in({n.of_job}).value_or(1));
    if (const int ranks = number_in({n.of_node}).value_or(0); ranks > 0) {
      size.of_node = ranks;
      size.is_known = number_in({n.of_job}).has_value();
      return size;
    }
    if (size.of_job > 1) return size;
  }
  return size;
}

bool has_launcher() {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).has_value();
}

int launched_rank() {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).value_or(0);
}

double collective_limit() {
  constexpr double usual = 7200;
  const char* text = std::getenv("GSOFA_MPI_LIMIT");
  if (text == nullptr || *text == '\0') return usual;
  double seconds = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds >= 0) || seconds > 1e9) {
    throw input_error("GSOFA_MPI_LIMIT is '" + std::string(text) +
                      "', not a number of seconds from 0 to 1e9");
  }
  return seconds;
}

}  // namespace gsofa
