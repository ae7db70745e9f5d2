# cmake -D SOURCE_DIR=... -D WORK_DIR=... -D CXX_COMPILER=... -P library_only_test.cmake
# Configures the library alone where none of the packages is that programs and tests need, and looks
# at what would be built: no programs, tests or emulated kernels, and no warning is an error.
cmake_minimum_required(VERSION 3.22)

set(absent "")
foreach(package CLI11 fmt nlohmann_json doctest ZLIB OpenSSL MPI)
  list(APPEND absent -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G "Unix Makefiles"
  -D GSOFA_LIBRARY_ONLY=ON -D GSOFA_WITH_CUDA=OFF -D CMAKE_CXX_COMPILER=${CXX_COMPILER} ${absent}
  RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "configuring the library alone failed:\n${text}${errors}")
endif()
file(GLOB_RECURSE flags ${WORK_DIR}/*flags.make)
foreach(file IN LISTS flags)
  file(READ ${file} text)
  if(text MATCHES "-Werror")
    message(FATAL_ERROR "${file} has -Werror")
  endif()
endforeach()
# Lines "FOLDER/all: FOLDER/CMakeFiles/TARGET.dir/all".
file(STRINGS ${WORK_DIR}/CMakeFiles/Makefile2 targets REGEX "^[a-z_/]+/all: .*/[a-z_]+\\.dir/all$")
list(TRANSFORM targets REPLACE ".*/([a-z_]+)\\.dir/all$" "\\1")
list(REMOVE_DUPLICATES targets)
set(needed gsofa_host_variants gsofa_counted_variants gsofa_gpu_variants gsofa_library_objects
  gsofa_library gsofa_library_static)
foreach(target IN LISTS targets)
  if(NOT target IN_LIST needed)
    message(FATAL_ERROR "the library alone builds ${target}")
  endif()
endforeach()
if(NOT gsofa_library IN_LIST targets)
  message(FATAL_ERROR "libgsofa is not among ${targets}")
endif()
message("${targets}")
