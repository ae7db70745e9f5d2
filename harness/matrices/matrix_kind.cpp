#include "harness/matrices/matrix_kind.hpp"

#include "common/error.hpp"
#include "harness/matrices/datasets.hpp"

namespace gsofa {

namespace {

// The kind of a generator or of the file with this sha256 in the catalog; "" if the catalog lacks
// it.
std::string kind_in_catalog(const provenance& p) try {
  std::string kind;
  for (const dataset& d : dataset_catalog::repository().entries()) {
    if (!d.stand_in.empty() && d.stand_in == p.name) return "stand-in";
    if (p.sha256.empty() || d.sha256 != p.sha256) continue;
    if (!d.bundled) return "original";
    kind = d.kind;
  }
  return kind;
} catch (const error&) {
  return "";  // a program outside the repository, or a build that cannot read TOML
}

}  // namespace

std::string matrix_kind(const provenance& p) {
  if (p.stand_in) return "stand-in";
  const std::string known = kind_in_catalog(p);
  if (!known.empty()) return known;
  if (p.name.starts_with("gen:")) {
    return p.name.starts_with("gen:kkt:") ? "power grid" : "generated";
  }
  return "real";
}

}  // namespace gsofa
