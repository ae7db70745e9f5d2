gsofa_roles(
  LIBRARY *.cpp *.cu
  UNCOUNTED *.cpp
  NOT_INTERLEAVED *.cu)
