gsofa_roles(
  UNCOUNTED planted_orders.cpp
  TOGETHER *.cpp)
