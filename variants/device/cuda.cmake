# Decides by GSOFA_WITH_CUDA whether nvcc compiles the GPU kernels; sets GSOFA_CUDA_FOUND and its compile flags.
if(NOT GSOFA_WITH_CUDA MATCHES "^(AUTO|NVCC|ON|OFF)$")
  message(FATAL_ERROR "GSOFA_WITH_CUDA is AUTO, NVCC, ON or OFF, not '${GSOFA_WITH_CUDA}'")
endif()
if(NOT GSOFA_WITH_CUDA STREQUAL "OFF")
  include(${CMAKE_CURRENT_LIST_DIR}/find_gpu.cmake)
  gsofa_find_gpu()
  set(gsofa_compile_cuda FALSE)
  # GPU kernels are two thirds of a build: AUTO compiles them only where a GPU can run them.
  if(GSOFA_GPU OR NOT GSOFA_WITH_CUDA STREQUAL "AUTO")
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND)
      check_language(CUDA)
      if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)  # in /usr/local/cuda, not on PATH
        unset(CMAKE_CUDA_COMPILER)
        set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "CUDA compiler" FORCE)
      endif()
    endif()
    if(CMAKE_CUDA_COMPILER)
      set(gsofa_compile_cuda TRUE)
    elseif(GSOFA_GPU)
      message(STATUS "gsofa: without CUDA: a GPU answers, but nvcc was not found; put nvcc on PATH")
    endif()
  else()
    find_program(GSOFA_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDAToolkit_ROOT PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(GSOFA_NVCC)
    if(GSOFA_NVCC)
      message(STATUS "gsofa: without CUDA: nvcc was found, but no GPU answers; GSOFA_WITH_CUDA=ON "
        "(cmake -D GSOFA_WITH_CUDA=ON, or in the environment of ./testbed) compiles the GPU kernels")
    endif()
  endif()
  if(gsofa_compile_cuda AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE supported ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+" supported "${supported}")
    gsofa_gpu_architectures(architectures "${GSOFA_GPU}" "${supported}")
    if(GSOFA_GPU AND NOT architectures AND GSOFA_WITH_CUDA STREQUAL "AUTO")
      message(STATUS "gsofa: without CUDA: ${CMAKE_CUDA_COMPILER} is too new for the GPU here (compute "
        "capability ${GSOFA_GPU}); an older CUDA toolkit supports the GPU")
      set(gsofa_compile_cuda FALSE)
    else()
      if(NOT architectures)
        set(architectures 80-real 90)  # machine code for 8.x and 9.0, and PTX for later GPUs
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING
        "GPU architectures, e.g. 75;80-real;90: a plain number means machine code and PTX")
    endif()
  endif()
  if(gsofa_compile_cuda)
    enable_language(CUDA)
    set(GSOFA_CUDA_FOUND TRUE)
    message(STATUS "gsofa: with CUDA, architectures ${CMAKE_CUDA_ARCHITECTURES}")
    target_compile_options(gsofa_flags INTERFACE
      $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${GSOFA_TIMED_KERNELS}>>:-lineinfo>
      # constexpr functions of common/, the hash of an entry among them, serve host and device alike.
      $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
      $<$<COMPILE_LANGUAGE:CUDA>:--default-stream=per-thread>
      $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${GSOFA_WERROR}>>:-Werror=all-warnings>)
    # All passes run, ptxas with its limits of registers and shared memory among them.
    if(NOT GSOFA_TIMED_KERNELS)
      set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")
      if(NOT CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(gsofa_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
      endif()
    endif()
  elseif(GSOFA_WITH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "nvcc of the CUDA toolkit was not found: put it on PATH")
  endif()
endif()
