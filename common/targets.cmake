# The compile flags of all targets, how groups of targets are compiled, and tests.
add_library(gsofa_flags INTERFACE)
target_include_directories(gsofa_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
# C++20 by flag: CMake 3.25 does not know it of nvcc 13, and would derive CUDA's standard from C++'s.
target_compile_options(gsofa_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX,CUDA>:-std=c++20>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:${SKBUILD}>>>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${GSOFA_WERROR}>>:-Werror>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${GSOFA_NATIVE}>>:-march=native>)
# Vectors of 64 bytes in inline functions (variants/panels/bits.hpp) cross no library boundary.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>)
endif()
# GCC 12 sees overlapping copies in `"text" + std::string` where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(GSOFA_SANITIZE)
  target_compile_options(gsofa_flags INTERFACE
    -fsanitize=${GSOFA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # GCC 12 sees writes beyond the end of strings where there are none.
  target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds -Wno-stringop-overflow>)
  target_link_options(gsofa_flags INTERFACE -fsanitize=${GSOFA_SANITIZE})
endif()
if(GSOFA_COVERAGE)
  # Atomic updates: threads count lines of one file at the same time.
  target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--coverage -fprofile-update=atomic>)
  target_link_options(gsofa_flags INTERFACE --coverage)
endif()
if(GSOFA_FUZZ)
  target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
target_link_libraries(gsofa_flags INTERFACE Threads::Threads)

# Objects of libgsofa: position independent, and no symbol is exported but those that the library lists.
function(gsofa_hide_symbols target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # A unique symbol cannot be made local to the static libgsofa.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
endfunction()

# Precompiles the standard headers that most sources include: those of `owner`, which has the same compile options.
function(gsofa_precompile target owner)
  if(NOT GSOFA_UNITY AND NOT target STREQUAL owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  elseif(NOT GSOFA_UNITY)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <charconv> <filesystem>
      <functional> <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string> <thread> <vector>)
  endif()
endfunction()

# With GSOFA_UNITY, up to sixteen sources in one compilation; for the Python package, whose build few processors do, any number.
function(gsofa_compile_together target)
  if(GSOFA_UNITY)
    set(batch 16)
    if(SKBUILD)
      set(batch 0)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    # A header whose types have members of a source's own types is then no main file.
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Code that is never timed: the compiler optimises less.
function(gsofa_optimise_less target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  # With -O1 GCC 12 sees writes beyond the end of strings where there are none.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endif()
endfunction()

# Code that is never timed: compiled in less time, the large headers of other libraries once for each
# target.
function(gsofa_untimed target)
  gsofa_optimise_less(${target})
  if(NOT GSOFA_UNITY)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  gsofa_compile_together(${target})
endfunction()

# All sources of a folder except its tests and programs.
function(gsofa_sources out)
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  list(FILTER found EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# gsofa_test(NAME COMMAND command... PROPERTIES property value... [CONFIGURATIONS c]); the default TIMEOUT is 300 s.
# A command that is a script, named by its path in the project, is run by Python; without Python there is no such test.
function(gsofa_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;PROPERTIES;CONFIGURATIONS")
  list(GET arg_COMMAND 0 program)
  if(program MATCHES "\\.py$")
    if(NOT Python3_FOUND)
      return()
    endif()
    list(POP_FRONT arg_COMMAND)
    list(PREPEND arg_COMMAND ${GSOFA_PYTHON} ${PROJECT_SOURCE_DIR}/${program})
  endif()
  add_test(NAME ${name} CONFIGURATIONS ${arg_CONFIGURATIONS} COMMAND ${arg_COMMAND})
  # Skipped where the machine lacks an optional package.
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION
    "No module named '(tomllib|numpy|scipy|matplotlib|jinja2)'|No such file or directory: '(/usr/bin/)?git'" ${arg_PROPERTIES}
    # OpenBLAS, where it is the BLAS of CHOLMOD, starts threads when a program is loaded, and ends the
    # program if none starts. Tests of limits refuse threads.
    ENVIRONMENT_MODIFICATION OPENBLAS_NUM_THREADS=set:1)
endfunction()
