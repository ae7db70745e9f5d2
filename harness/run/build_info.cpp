#include "harness/run/build_info.hpp"

#include <cstdlib>

#include "gsofa_generated/build_config.hpp"
#include "gsofa_generated/git_stamp.hpp"

namespace gsofa {

const build_info& this_build() {
  static const build_info info{
      .version = GSOFA_VERSION,
      .git_sha = GSOFA_GIT_SHA,
      .git_dirty = GSOFA_GIT_DIRTY,
      .compiler = GSOFA_COMPILER,
      .nvcc = GSOFA_NVCC,
      .flags = GSOFA_BUILD_FLAGS,
      .arch = GSOFA_BUILD_ARCH,
      .type = GSOFA_BUILD_TYPE,
  };
  return info;
}

std::filesystem::path repository_root() {
  const char* root = std::getenv("GSOFA_ROOT");
  return root != nullptr && *root != '\0' ? root : GSOFA_SOURCE_ROOT;
}

}  // namespace gsofa
