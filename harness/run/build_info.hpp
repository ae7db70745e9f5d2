#pragma once

#include <filesystem>
#include <string>

namespace gsofa {

/// How this program was built; copied into every record.
struct build_info {
  std::string version;
  std::string git_sha;  ///< commit at the last build, "unknown" outside a git checkout
  bool git_dirty = false;
  std::string compiler;
  std::string nvcc;  ///< version of the CUDA toolkit, empty without
  std::string flags;
  std::string arch;
  std::string type;  ///< CMake build type
};
const build_info& this_build();

/// Folder that holds experiments/: $GSOFA_ROOT if set, else the source tree this was built from.
std::filesystem::path repository_root();

}  // namespace gsofa
