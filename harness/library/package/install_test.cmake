# cmake -D BUILD_DIR=... -D WORK_DIR=... -D SOURCE_DIR=... -D LIBDIR=... -D CXX_COMPILER=...
#       -D SANITIZE=... -D MATCHING=0|1 -D STATIC=ON|OFF -D SUPERLU_DIST=0|1 -D CUDSS_ROOT=...
#       -P install_test.cmake
# Installs the library into WORK_DIR, builds the examples and those of the documentation as projects
# of their own against that, and runs them.
cmake_minimum_required(VERSION 3.22)

# Runs a command; stops unless it ends with `status`. Its output goes to the variable `out`.
function(expect status out)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT result EQUAL status)
    message(FATAL_ERROR "exit status ${result}, not ${status}: ${ARGN}\n${text}${errors}")
  endif()
  set(${out} "${text}${errors}" PARENT_SCOPE)
endfunction()

set(prefix ${WORK_DIR}/prefix)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})
foreach(component gsofa_runtime gsofa_development)
  expect(0 out ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/${component}
    --component ${component})
endforeach()
file(GLOB_RECURSE runtime RELATIVE ${WORK_DIR}/gsofa_runtime ${WORK_DIR}/gsofa_runtime/*)
if(NOT runtime MATCHES "^${LIBDIR}/libgsofa\\.so\\.[0-9.]+;${LIBDIR}/libgsofa\\.so\\.[0-9.]+$")
  message(FATAL_ERROR "the component gsofa_runtime has ${runtime}")
endif()
if(SUPERLU_DIST)
  expect(0 out ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/superlu --component gsofa_superlu)
  file(GLOB_RECURSE drop_in RELATIVE ${WORK_DIR}/superlu/${LIBDIR} ${WORK_DIR}/superlu/*)
  if(NOT drop_in MATCHES "^libgsofa_superlu.so;libgsofa_superlu.so.[0-9.]+;libgsofa_superlu.so.[0-9.]+;libgsofa_superlu_wrap.a$")
    message(FATAL_ERROR "the component gsofa_superlu has ${drop_in}")
  endif()
endif()
expect(0 out ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/metis --component gsofa_metis)
file(GLOB_RECURSE drop_in RELATIVE ${WORK_DIR}/metis/${LIBDIR} ${WORK_DIR}/metis/*)
set(version "[.]so[.][0-9.]+")
if(NOT drop_in MATCHES "^libgsofa_metis.so;libgsofa_metis${version};libgsofa_metis${version};libgsofa_metis64.so$")
  message(FATAL_ERROR "the component gsofa_metis has ${drop_in}")
endif()
expect(0 out ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

foreach(file LICENSE CITATION.cff docs/analyze.md)
  if(NOT EXISTS ${prefix}/share/doc/gsofa/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

# The installed drop-in finds libgsofa next to itself.
if(NOT SANITIZE)  # the run-time of a sanitizer comes first
  foreach(bits "" 64)
    expect(0 out ${CMAKE_COMMAND} -E env LD_PRELOAD=${prefix}/${LIBDIR}/libgsofa_metis${bits}.so ${CMAKE_COMMAND} -E true)
    if(NOT out STREQUAL "")
      message(FATAL_ERROR "libgsofa_metis${bits}.so is not loaded:\n${out}")
    endif()
  endforeach()
endif()

# Headers are whole: they name no file that is not installed with them.
file(GLOB headers ${prefix}/include/gsofa/*)
foreach(header IN LISTS headers)
  file(STRINGS ${header} includes REGEX "^#include \"")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" name "${line}")
    if(NOT EXISTS ${prefix}/include/${name})
      message(FATAL_ERROR "${header} includes ${name}, which is not installed")
    endif()
  endforeach()
endforeach()

set(flags "")
if(SANITIZE)
  set(flags -D CMAKE_C_FLAGS=-fsanitize=${SANITIZE} -D CMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
expect(0 out ${CMAKE_COMMAND} -S ${prefix}/share/doc/gsofa/example -B ${build}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
  -D CUDSS_ROOT=${CUDSS_ROOT} ${flags})
string(REGEX MATCH "without cudss_solve[^\n]*" skipped "${out}")
message("${skipped}")
expect(0 out ${CMAKE_COMMAND} --build ${build})

# A structural and a circuit matrix, one with convection, and one with zeros on its diagonal.
set(matrices bcsstk18 add32 sherman5)
if(MATCHING)
  list(APPEND matrices west2021)
endif()
foreach(matrix IN LISTS matrices)
  expect(0 out ${build}/solve ${SOURCE_DIR}/experiments/matrices/${matrix}.mtx.gz cpu)
  if(NOT out MATCHES "values outside +0\n" OR NOT out MATCHES "cpu_bitmap_panels")
    message(FATAL_ERROR "solve ${matrix}:\n${out}")
  endif()
  message("${matrix}\n${out}")
endforeach()
foreach(matrix add32.mtx.gz sherman5.mtx.gz worked_example.mtx)
  expect(0 out ${build}/fill ${SOURCE_DIR}/experiments/matrices/${matrix})
  message("${matrix}: ${out}")
endforeach()

# Errors are one line and exit status 2.
file(WRITE ${WORK_DIR}/singular.mtx
  "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 1 1.0\n")
foreach(program solve fill)
  expect(2 out ${build}/${program} ${WORK_DIR}/singular.mtx)
  if(MATCHING)
    set(reason "pattern: structurally singular: structural rank 1 of 2")
  else()
    set(reason "matching needs SuiteSparse BTF")
  endif()
  if(NOT out MATCHES "^${program}: ${reason}[^\n]*\n$")
    message(FATAL_ERROR "${program} on a singular matrix: ${out}")
  endif()
endforeach()

# An older standard than the headers need: one line.
file(WRITE ${WORK_DIR}/older.cpp "#include <gsofa/gsofa.hpp>\nint main() {}\n")
expect(1 out ${CXX_COMPILER} -std=c++17 -fsyntax-only -I${prefix}/include ${WORK_DIR}/older.cpp)
string(REGEX MATCHALL "error: [^\n]*" errors "${out}")
if(NOT errors MATCHES "^error: [^;]*gsofa/gsofa.hpp needs C\\+\\+20[^;]*;[^;]*$")
  message(FATAL_ERROR "gsofa.hpp in C++17: ${out}")
endif()

# The programs of the documentation print what stands below them.
include(${CMAKE_CURRENT_LIST_DIR}/docs_test.cmake)

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  expect(0 folder ${PKG_CONFIG} --variable=includedir gsofa)
  string(STRIP "${folder}" folder)
  if(NOT EXISTS ${folder}/gsofa/gsofa.h)
    message(FATAL_ERROR "the pkg-config file says that headers are in ${folder}")
  endif()
  if(STATIC AND NOT SANITIZE)
    expect(0 flags ${PKG_CONFIG} --static --cflags --libs gsofa)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    # The static library, although the shared one is beside it.
    list(REMOVE_ITEM flags -lgsofa)
    expect(0 out ${CXX_COMPILER} -std=c++20 ${WORK_DIR}/docs/analyze_cpp_1.cpp
      ${prefix}/${LIBDIR}/libgsofa.a ${flags} -o ${WORK_DIR}/by_pkg_config)
    expect(0 out ${WORK_DIR}/by_pkg_config)
  endif()
endif()
