gsofa_roles(
  LIBRARY *.cu
  EMULATED emulator.cpp
  INTERLEAVED interleaving/accesses.cpp)
