# Writes OUT with the commit of SOURCE_DIR; leaves it untouched if nothing changed, so that only a
# new commit (or the first local change) causes recompilation.
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
set(text "#define GSOFA_GIT_SHA \"${sha}\"\n#define GSOFA_GIT_DIRTY ${dirty}\n")
set(previous "")
if(EXISTS ${OUT})
  file(READ ${OUT} previous)
endif()
if(NOT text STREQUAL previous)
  file(WRITE ${OUT} "${text}")
endif()
