#pragma once

// Graphs on which the tests of dissection compare device and host.

#include <vector>

#include "common/generators.hpp"
#include "common/symmetrize.hpp"

namespace gsofa::orders::test {

// Symmetric patterns without diagonal.
inline std::vector<pattern> subjects() {
  std::vector<pattern> out;
  for (const char* spec : {"diagonal:n=0",
                           "diagonal:n=1",
                           "diagonal:n=2",
                           "diagonal:n=70",
                           "dense:n=2",
                           "dense:n=30",
                           "tridiagonal:n=61",
                           "tridiagonal:n=300",
                           "arrow:n=60",
                           "arrow:n=90,tip=first",
                           "arrow:n=700",
                           "banded:n=90,lower=7,upper=7",
                           "grid5:nx=17,ny=11",
                           "grid5:nx=9",
                           "grid5:nx=40,ny=3,drop=0.3,seed=2",
                           "grid7:nx=7",
                           "grid9:nx=12",
                           "grid15:nx=5",
                           "grid27:nx=5",
                           "elasticity3d:nx=3,ny=4,nz=3",
                           "circuit:n=200,hubs=3,seed=1",
                           "circuit:n=450,hubs=4,supply=0.8,seed=4",
                           "circuit:n=90,seed=5",
                           "random:n=95,degree=1,seed=1",
                           "random:n=150,degree=2,seed=2",
                           "random:n=99,degree=5,seed=3",
                           "random:n=260,degree=9,seed=4",
                           "circuit:n=300,degree=1,drop=0.4,seed=5",
                           "random:n=64,degree=20,seed=6",
                           "columns:columns=2,stages=8,components=3"}) {
    out.push_back(symmetrized(generate(spec), diagonal::drop));
  }
  return out;
}

}  // namespace gsofa::orders::test
