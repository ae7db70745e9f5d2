# cuDSS has no Debian package; its wheel has libcudss.so.1, but no libcudss.so. The program that is
# tried shows that header, library and the toolkit's libraries fit together.
set(CUDSS_ROOT "" CACHE PATH "Folder of cuDSS, with include/ and lib/")
unset(GSOFA_CUDSS_LINKS CACHE)
if(NOT GSOFA_WITH_CUDSS STREQUAL "OFF")
  if(GSOFA_CUDA_FOUND AND TARGET CUDA::cublas AND TARGET CUDA::nvrtc)
    # The files, not the targets: CUDA::nvrtc brings in libcuda, absent where there is no driver.
    set(cudss_needs "")
    foreach(name cublas nvrtc)
      get_target_property(location CUDA::${name} IMPORTED_LOCATION)
      list(APPEND cudss_needs ${location})
    endforeach()
    find_path(CUDSS_INCLUDE_DIR cudss.h HINTS ${CUDSS_ROOT}
      PATH_SUFFIXES include libcudss/${CUDAToolkit_VERSION_MAJOR})
    find_library(CUDSS_LIBRARY NAMES cudss libcudss.so.1 HINTS ${CUDSS_ROOT}
      PATH_SUFFIXES lib libcudss/${CUDAToolkit_VERSION_MAJOR})
    if(CUDSS_INCLUDE_DIR AND CUDSS_LIBRARY)
      include(CheckCXXSourceCompiles)
      set(CMAKE_REQUIRED_INCLUDES ${CUDSS_INCLUDE_DIR})
      set(CMAKE_REQUIRED_LIBRARIES ${CUDSS_LIBRARY} ${cudss_needs} CUDA::cudart_static)
      check_cxx_source_compiles("#include <cudss.h>
        #if CUDSS_VERSION_MAJOR < 1
        #error too old
        #endif
        int main() { int v = 0; return static_cast<int>(cudssGetProperty(MAJOR_VERSION, &v)); }"
        GSOFA_CUDSS_LINKS)
      unset(CMAKE_REQUIRED_INCLUDES)
      unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
  endif()
  if(GSOFA_CUDSS_LINKS)
    add_library(gsofa::CUDSS INTERFACE IMPORTED GLOBAL)
    target_include_directories(gsofa::CUDSS SYSTEM INTERFACE ${CUDSS_INCLUDE_DIR})
    # What cuDSS itself needs is linked too, so that it is found where the toolkit is.
    target_link_libraries(gsofa::CUDSS INTERFACE ${CUDSS_LIBRARY}
      -Wl,--push-state,--no-as-needed ${cudss_needs} -Wl,--pop-state CUDA::cudart_static)
    target_compile_definitions(gsofa::CUDSS INTERFACE GSOFA_HAVE_CUDSS=1)
  elseif(GSOFA_WITH_CUDSS STREQUAL "ON")
    message(FATAL_ERROR "cuDSS 1.0 or newer was not found, or does not link with the toolkit's cuBLAS "
      "and NVRTC: unpack the wheel nvidia-cudss-cu13 and name nvidia/cu13 in it by CUDSS_ROOT")
  else()
    message(STATUS "gsofa: without CUDSS (wheel nvidia-cudss-cu13, CUDSS_ROOT)")
  endif()
endif()
