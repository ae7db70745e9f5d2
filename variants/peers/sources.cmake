gsofa_roles(
  UNCOUNTED
    peer_cholmod.cpp
    peer_superlu_dist.cpp
    peer_superlu_dist_parallel.cpp
    peer_umfpack.cpp)
