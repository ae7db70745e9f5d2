gsofa_roles(
  LIBRARY *.cpp
  UNCOUNTED *.cpp)
