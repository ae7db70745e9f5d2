#include "harness/matrices/matrix_kind.hpp"

namespace gsofa {

std::string matrix_kind(const provenance& p) {
  if (p.stand_in) return "stand-in";
  if (p.name.starts_with("gen:")) {
    return p.name.starts_with("gen:kkt:") ? "power grid" : "generated";
  }
  return "real";
}

}  // namespace gsofa
