#pragma once

#include <filesystem>

#include "common/error.hpp"

#ifdef GSOFA_HAVE_TOMLPLUSPLUS
#include <toml++/toml.h>

namespace gsofa {

/// Parses a TOML file; throws input_error naming file, line and reason.
toml::table read_toml(const std::filesystem::path& file);

}  // namespace gsofa
#endif
