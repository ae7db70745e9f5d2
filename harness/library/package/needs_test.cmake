# cmake -D LIBRARIES=a;b -P needs_test.cmake
# Fails if a library needs METIS, by itself or by what it needs: loaded into a program, it would bring
# its METIS before or behind the one that the program has.
cmake_minimum_required(VERSION 3.22)

file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${LIBRARIES}
  RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing)
if(NOT "${found};${missing}" MATCHES "libc\\.so")
  message(FATAL_ERROR "no dependencies of ${LIBRARIES} were found: ${found}; ${missing}")
endif()
if("${found};${missing}" MATCHES "libmetis")
  message(FATAL_ERROR "${LIBRARIES} need METIS: ${found}; ${missing}")
endif()
message("${found}")
