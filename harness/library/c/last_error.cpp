#include "harness/library/c/last_error.hpp"

#include <array>
#include <cstdio>

namespace gsofa::library {

namespace {

constinit thread_local std::array<char, 512> text{};

}  // namespace

void set_last_error(const char* message) noexcept {
  std::snprintf(text.data(), text.size(), "%s", message);
}

const char* last_error() noexcept { return text.data(); }

}  // namespace gsofa::library
