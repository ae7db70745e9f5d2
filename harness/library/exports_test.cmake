# cmake -D NM=... -D LIBRARY=... -D LIST=exports.txt -D VERSION=GSOFA_x.y [-D WRITE=1]
#       -P exports_test.cmake
# Compares the symbols that the library defines for others, all of them of one version, with the list.
# WRITE=1 writes the list instead.
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
