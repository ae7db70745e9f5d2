# cmake -D SOURCE_DIR=... -D WORK_DIR=... -D CXX_COMPILER=... -D BUILD_DIR=... -D LIBDIR=...
#       -D SUPERLU_DIST=0|1 -D SOLVE=... -D SANITIZE=... -P library_only_test.cmake
# Configures the library alone without the packages that only programs and tests need, and checks what
# would be built: no programs, tests or emulated kernels, and no warning is an error. Where
# SuperLU_DIST was found, also builds and installs the drop-in from this configuration, with the
# libgsofa of BUILD_DIR instead of another build of it, and preloads it.
cmake_minimum_required(VERSION 3.22)

# Runs a command that must succeed. Its output goes to the variable `out`.
function(run out)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "exit status ${result}: ${ARGN}\n${text}${errors}")
  endif()
  set(${out} "${text}${errors}" PARENT_SCOPE)
endfunction()

set(absent "")
foreach(package CLI11 fmt nlohmann_json doctest ZLIB OpenSSL)
  list(APPEND absent -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
set(configure ${CMAKE_COMMAND} -S ${SOURCE_DIR} -G "Unix Makefiles" -D GSOFA_LIBRARY_ONLY=ON
  -D GSOFA_WITH_CUDA=OFF -D GSOFA_WITH_ZLIB=OFF -D CMAKE_CXX_COMPILER=${CXX_COMPILER} ${absent})
file(REMOVE_RECURSE ${WORK_DIR} ${WORK_DIR}_superlu)
run(out ${configure} -B ${WORK_DIR} -D CMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
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
set(needed gsofa_library_common gsofa_library_counted gsofa_library_uncounted gsofa_library_kernels
  gsofa_library_objects gsofa_library gsofa_library_static gsofa_metis)
foreach(target IN LISTS targets)
  if(NOT target IN_LIST needed)
    message(FATAL_ERROR "the library alone builds ${target}")
  endif()
endforeach()
if(NOT gsofa_library IN_LIST targets)
  message(FATAL_ERROR "libgsofa is not among ${targets}")
endif()
message("${targets}")
file(STRINGS ${WORK_DIR}/harness/library/gsofa_whole.rsp linked)
list(FILTER linked EXCLUDE REGEX "[.]o$")
if(linked)
  message(FATAL_ERROR "the static library would be linked from ${linked}")
endif()

if(NOT SUPERLU_DIST)
  message("SuperLU_DIST was not found: no drop-in")
  return()
endif()
set(build ${WORK_DIR}_superlu)
set(prefix ${build}/prefix)
set(drop_in ${prefix}/${LIBDIR}/libgsofa_superlu.so)
run(out ${configure} -B ${build} -D GSOFA_STATIC_LIBRARY=OFF -D GSOFA_SANITIZE=${SANITIZE}
  -D CMAKE_INSTALL_LIBDIR=${LIBDIR} -D CMAKE_BUILD_TYPE=Debug)
file(STRINGS ${build}/CMakeFiles/Makefile2 targets REGEX "^harness/library/superlu/all: .*gsofa_superlu\\.dir/all$")
if(NOT targets)
  message(FATAL_ERROR "the library alone leaves the SuperLU_DIST drop-in out")
endif()
file(GLOB libraries ${BUILD_DIR}/harness/library/libgsofa.so*)
file(COPY ${libraries} DESTINATION ${build}/harness/library)

# The two documented ways: libgsofa alone is built and all that was built is installed; then the drop-in too.
run(out ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
if(EXISTS ${drop_in})
  message(FATAL_ERROR "${drop_in} is installed, but was not built")
endif()
run(out ${CMAKE_COMMAND} --build ${build} --target gsofa_superlu/fast)  # without what it depends on
run(out ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

# The drop-in finds libgsofa next to itself, in programs with and without SuperLU_DIST, and needs no
# METIS of its own.
find_program(READELF readelf)
if(READELF)
  run(out ${READELF} -d ${drop_in})
  if(out MATCHES "libmetis|libmpi|libsuperlu")
    message(FATAL_ERROR "the drop-in needs a library of the program:\n${out}")
  endif()
endif()
if(NOT SANITIZE)  # the run-time of a sanitizer comes first
  run(out ${CMAKE_COMMAND} -E env LD_PRELOAD=${drop_in} ${CMAKE_COMMAND} -E true)
  run(out ${CMAKE_COMMAND} -E env LD_PRELOAD=${drop_in} GSOFA_SUPERLU=verbose
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${SOLVE} gen:grid7:nx=5,ny=5,nz=5)
  if(NOT out MATCHES "gsofa: symbfact: n 125, ")
    message(FATAL_ERROR "${SOLVE} does not call the drop-in:\n${out}")
  endif()
endif()
