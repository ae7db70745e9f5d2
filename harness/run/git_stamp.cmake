# Writes OUT with the commit of SOURCE_DIR; leaves it untouched if nothing changed, so that only a
# new commit (or the first local change) causes recompilation.
#
# A source tree without its repository takes the commit that the environment variable GSOFA_COMMIT, or
# else -D COMMIT, gives: 40 hexadecimal digits, followed by -dirty if files were changed since. What git
# itself finds comes first.
set(sha "unknown")
set(dirty "false")
find_program(git_program git)
if(git_program)
  execute_process(COMMAND ${git_program} -c safe.directory=* rev-parse HEAD
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE found RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(sha "${found}")
    execute_process(COMMAND ${git_program} -c safe.directory=* status --porcelain
      WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      set(dirty "true")
    endif()
  endif()
endif()
set(given "$ENV{GSOFA_COMMIT}")
if(given STREQUAL "")
  set(given "${COMMIT}")
endif()
if(NOT given STREQUAL "")
  string(REGEX MATCH "^([0-9a-f]+)(-dirty)?$" matched "${given}")
  set(given_sha "${CMAKE_MATCH_1}")
  set(given_dirty "${CMAKE_MATCH_2}")
  string(LENGTH "${given_sha}" digits)
  if(NOT matched OR NOT digits EQUAL 40)
    message(FATAL_ERROR
      "GSOFA_COMMIT is '${given}': expected 40 lower-case hexadecimal digits, optionally with -dirty")
  endif()
  if(sha STREQUAL "unknown")
    set(sha "${given_sha}")
    if(given_dirty)
      set(dirty "true")
    endif()
  elseif(NOT sha STREQUAL given_sha)
    message(WARNING "GSOFA_COMMIT is ${given_sha}, but git finds ${sha}, which is used")
  endif()
endif()
set(text "#define GSOFA_GIT_SHA \"${sha}\"\n#define GSOFA_GIT_DIRTY ${dirty}\n")
set(previous "")
if(EXISTS ${OUT})
  file(READ ${OUT} previous)
endif()
if(NOT text STREQUAL previous)
  file(WRITE ${OUT} "${text}")
endif()
