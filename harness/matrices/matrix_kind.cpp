#include "harness/matrices/matrix_kind.hpp"

#include <utility>

namespace gsofa {

namespace {

constexpr std::pair<const char*, const char*> kinds_of_families[] = {
    {"gen:kkt:", "power grid"},
    {"gen:circuit:", "circuit"},
    {"gen:harmonic:", "circuit"},
    {"gen:space_time_kkt:", "space x time"}};

}  // namespace

std::string matrix_kind(const provenance& p) {
  if (p.stand_in) return "stand-in";
  if (!p.name.starts_with("gen:")) return "real";
  for (const auto& [family, kind] : kinds_of_families) {
    if (p.name.starts_with(family)) return kind;
  }
  return "generated";
}

}  // namespace gsofa
