# cmake -D NM=... -D LIBRARY=... -D LIST=exports.txt -D VERSION=GSOFA_x.y
#       [-D WRITE=1] -P exports_test.cmake
# Compares the symbols that the library defines for others, all of them of one version, with the list.
# WRITE=1 writes the list instead. gsofa.h declares the functions of C in the list, and docs/c.md names
# them.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${NM} -D --defined-only --with-symbol-versions ${LIBRARY}
  RESULT_VARIABLE result OUTPUT_VARIABLE text)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
set(found "")
string(REGEX MATCHALL "[^\n]+" lines "${text}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".* " "" symbol "${line}")
  if(symbol MATCHES "^${VERSION}(@|$)")
    continue()  # the version itself
  endif()
  if(NOT symbol MATCHES "^(.*)@@${VERSION}$")
    message(FATAL_ERROR "${symbol} is not of version ${VERSION}")
  endif()
  list(APPEND found ${CMAKE_MATCH_1})
endforeach()
list(SORT found)
if(WRITE)
  list(JOIN found "\n" text)
  file(WRITE ${LIST} "${text}\n")
  return()
endif()
file(STRINGS ${LIST} listed)
set(gone ${listed})
set(come ${found})
list(REMOVE_ITEM gone ${found})
list(REMOVE_ITEM come ${listed})
if(gone OR come)
  message(FATAL_ERROR "exported symbols differ from ${LIST}: gone: ${gone}; new: ${come}")
endif()
list(LENGTH found count)
message("${count} symbols")

# gsofa.h declares the functions of C, and a page of the documentation names each.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../include/gsofa/gsofa.h header)
file(READ ${CMAKE_CURRENT_LIST_DIR}/../docs/c.md documentation)
foreach(symbol IN LISTS found)
  if(NOT symbol MATCHES "^gsofa_")
    continue()
  endif()
  if(NOT header MATCHES "[ *]${symbol}\\(")
    message(FATAL_ERROR "gsofa.h does not declare ${symbol}")
  endif()
  # The page writes gsofa_analyzer_create, _start for the functions of one kind.
  string(REGEX REPLACE "^gsofa_analyzer_.*" "gsofa_analyzer_" named "${symbol}")
  if(NOT documentation MATCHES "${named}")
    message(FATAL_ERROR "docs/c.md does not name ${symbol}")
  endif()
endforeach()
