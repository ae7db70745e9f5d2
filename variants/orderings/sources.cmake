gsofa_roles(
  LIBRARY
    amd.cpp
    amf.cpp
    automatic.cpp
    colamd.cpp
    cpu_nested_dissection.cpp
    direction*.cpp
    metis.cpp
    minimum_degree.cpp
    natural.cpp
    nested_dissection*.cpp
    tournament.cpp
    gpu_*.cu
  UNCOUNTED *.cpp
  NOT_INTERLEAVED *.cu
  ALONE minimum_degree.cpp nested_dissection_match.cpp)
