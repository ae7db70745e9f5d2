gsofa_roles(
  UNCOUNTED
    column_result.cpp
    row_store.cpp)
