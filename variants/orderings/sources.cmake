gsofa_roles(
  LIBRARY
    amd.cpp
    amf.cpp
    automatic.cpp
    choose.cpp
    colamd.cpp
    cpu_nested_dissection.cpp
    direction*.cpp
    groups.cpp
    leaves_of_hubs.cpp
    metis*.cpp
    minimum_degree.cpp
    natural.cpp
    order*.cpp
    tournament.cpp
    dissection/host/*.cpp
    gpu_*.cu
    dissection/device/*.cu
  UNCOUNTED *.cpp dissection/host/*.cpp
  NOT_INTERLEAVED *.cu dissection/device/*.cu)
